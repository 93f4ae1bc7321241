#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/cli/steps_test_bed.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/redis_server.h"

namespace semel::test {

namespace {

// A config over a prefix of its own.
class RedisGround {
 public:
  RedisGround(std::string_view url, std::string_view prefix, std::string_view consumer) {
    write_file(config(), fmt::format("version: 1\n"
                                     "store: {{ redis: {{ url: \"{}\", prefix: \"{}\" }} }}\n"
                                     "consumers:\n"
                                     "  - name: payments\n{}",
                                     url, prefix, consumer));
  }

  std::string config() const { return folder_.file("semel.yaml"); }
  void sql(const std::string& text) const { ADD_FAILURE() << "no SQL here: " << text; }
  std::int64_t number(const std::string& query) const {
    sql(query);
    return 0;
  }

 private:
  TempDir folder_;
};

}  // namespace

std::vector<StepsDatabase> steps_grounds() {
  const auto made = [](const std::string& url, const std::string& prefix,
                       std::string_view consumer) -> std::unique_ptr<StepsTestBed> {
    return std::make_unique<StepsTestBedOn<RedisGround>>(url, prefix, consumer);
  };
  return {{"Redis",
           [made](std::string_view consumer) {
             const RedisServer& server = RedisServer::shared();
             return made(server.url(), server.new_database() + ":", consumer);
           }},
          {"RedisCluster", [made](std::string_view consumer) {
             const RedisCluster& cluster = RedisCluster::shared();
             return made(cluster.url(), cluster.new_prefix(), consumer);
           }}};
}

}  // namespace semel::test
