#include "tests/chaos/redis_database.h"

#include <fmt/format.h>

#include <sstream>
#include <stdexcept>

#include <semel/held_messages.h>
#include <semel/records.h>
#include <semel/redis.h>

namespace semel::test {
namespace {

template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

class ClusterDatabase final : public Database {
 public:
  ClusterDatabase(const RedisCluster& cluster, int replicas)
      : cluster_(cluster), prefix_(cluster.new_prefix()), replicas_(replicas) {}

  std::string place() const override { return cluster_.url() + " " + prefix_; }
  std::unique_ptr<Store> open() const override {
    RedisOptions options;
    options.url = cluster_.url();
    options.prefix = prefix_;
    options.wait_replicas = replicas_;
    return value_of(open_redis(std::move(options)));
  }

  std::size_t held() const override {
    std::size_t held = 0;
    for (const auto& one : stats().consumers) held += one.held;
    return held;
  }
  std::map<std::string, std::string> dead() const override {
    const auto store = open();
    std::map<std::string, std::string> dead;
    for (const DeadLetter& one : value_of(store->facets().dead_letters->list({}))) {
      dead[one.key] = one.reason;
    }
    return dead;
  }
  // Counted by what stands there: the letter of its state behind the version.
  std::size_t completed() const override {
    std::istringstream counts(cluster_.run_everywhere(
        {"EVAL",
         "local n = 0 for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '{??}*')) do "
         "if redis.pcall('GETRANGE', key, 1, 1) == 'D' then n = n + 1 end end return n",
         "0", prefix_}));
    std::size_t sum = 0;
    for (std::size_t count = 0; counts >> count;) sum += count;
    return sum;
  }

 private:
  StoreStats stats() const { return value_of(open()->facets().records->stats()); }

  const RedisCluster& cluster_;
  const std::string prefix_;
  const int replicas_;
};

}  // namespace

std::unique_ptr<Database> make_cluster_database(const RedisCluster& cluster, int replicas) {
  return std::make_unique<ClusterDatabase>(cluster, replicas);
}

std::unique_ptr<Database> make_database(const TempDir&) {
  return make_cluster_database(RedisCluster::shared());
}

std::size_t share_of_rounds() { return 10; }

bool has_tables() { return false; }

bool has_steps() { return true; }

}  // namespace semel::test
