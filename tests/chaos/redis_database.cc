#include "tests/chaos/redis_database.h"

#include <fmt/format.h>

#include "tests/chaos/redis_records.h"
#include "tests/chaos/server_under_test.h"

namespace semel::test {
namespace {

class RedisDatabase final : public RedisRecords {
 public:
  RedisDatabase(const RedisServer& server, int port)
      : server_(server),
        prefix_(server.new_database() + ":"),
        url_(port == 0 ? server.url() : fmt::format("redis://127.0.0.1:{}/0", port)) {}

  std::string place() const override { return url_ + " " + prefix_; }
  std::unique_ptr<Store> open() const override { return open(server_.url()); }
  std::unique_ptr<Store> open_at_place() const override { return open(url_); }

  std::size_t completed() const override {
    return std::stoul(server_.run(count_completed(prefix_)));
  }

 private:
  void age_signs() const override { server_.run(age_signs_of(prefix_)); }
  std::unique_ptr<Store> open(const std::string& url) const {
    RedisOptions options;
    options.url = url;
    options.prefix = prefix_;
    options.accept_eviction = true;  // the test bed only looks
    return value_of(open_redis(std::move(options)));
  }

  const RedisServer& server_;
  const std::string prefix_;
  const std::string url_;
};

class RedisUnderTest final : public ServerUnderTest {
 public:
  DatabaseServer& server() override { return server_; }
  std::unique_ptr<Database> make_database(int port) const override {
    return make_redis_database(server_, port);
  }

 private:
  RedisServer server_;
};

}  // namespace

std::unique_ptr<ServerUnderTest> start_server() { return std::make_unique<RedisUnderTest>(); }

std::unique_ptr<Database> make_redis_database(const RedisServer& server, int port) {
  return std::make_unique<RedisDatabase>(server, port);
}

std::unique_ptr<Database> make_database(const TempDir&) {
  return make_redis_database(RedisServer::shared());
}

std::size_t share_of_rounds() { return 10; }

std::optional<std::size_t> half_of_matrix() { return std::nullopt; }

bool has_tables() { return false; }

bool has_steps() { return false; }

}  // namespace semel::test
