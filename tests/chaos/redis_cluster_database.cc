#include "tests/chaos/redis_database.h"

#include <sstream>

#include "tests/chaos/redis_records.h"

namespace semel::test {
namespace {

class ClusterDatabase final : public RedisRecords {
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

  std::size_t completed() const override {
    std::istringstream counts(cluster_.run_everywhere(count_completed(prefix_)));
    std::size_t sum = 0;
    for (std::size_t count = 0; counts >> count;) sum += count;
    return sum;
  }

 private:
  void age_signs() const override { cluster_.run_everywhere(age_signs_of(prefix_)); }

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

std::optional<std::size_t> half_of_matrix() { return std::nullopt; }

bool has_tables() { return false; }

bool has_steps() { return true; }

}  // namespace semel::test
