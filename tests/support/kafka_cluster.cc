#include "tests/support/kafka_cluster.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <future>
#include <stdexcept>
#include <vector>

#include "tests/support/waiting.h"

namespace semel::test {
namespace {

constexpr std::chrono::seconds kNodePatience{60};
constexpr int kOffsetPartitions = 2;  // as kafka_broker has it

void wait_for_nodes(const std::string& what, const std::function<bool()>& done) {
  if (comes_true(done, kNodePatience)) return;
  throw std::runtime_error("the Kafka cluster: " + what + " takes too long");
}

// The brokers find a group's partition in the same way: by Java's hash of its name.
int offsets_partition_of(const std::string& group) {
  std::uint32_t hash = 0;
  for (const char c : group) hash = 31 * hash + static_cast<unsigned char>(c);
  return static_cast<int>((hash & 0x7fffffff) % kOffsetPartitions);
}

}  // namespace

KafkaCluster::KafkaCluster() {
  std::array<int, kNodes> controllers{};
  std::string voters;
  for (int i = 0; i < kNodes; ++i) {
    controllers.at(static_cast<std::size_t>(i)) = free_port();
    voters += fmt::format("{}{}@127.0.0.1:{}", i == 0 ? "" : ",", i + 1,
                          controllers.at(static_cast<std::size_t>(i)));
  }
  // None answers before two are up.
  std::vector<std::future<std::unique_ptr<KafkaServer>>> starting;
  for (int i = 0; i < kNodes; ++i) {
    KafkaServer::Options options;
    options.controller_port = controllers.at(static_cast<std::size_t>(i));
    options.replicas = kNodes;
    options.properties = {fmt::format("node.id={}", i + 1), "controller.quorum.voters=" + voters,
                          "offsets.topic.replication.factor=3",
                          "transaction.state.log.replication.factor=3", "min.insync.replicas=2"};
    starting.push_back(std::async(std::launch::async,
                                  [options] { return std::make_unique<KafkaServer>(options); }));
  }
  std::string all;
  for (std::size_t i = 0; i < kNodes; ++i) {
    nodes_.at(i) = starting.at(i).get();
    all += fmt::format("{}{}", i == 0 ? "" : ",", nodes_.at(i)->brokers());
  }
  for (const auto& node : nodes_) node->join_cluster(all);
  wait_for_nodes("meeting", [this] { return server().known_brokers() == kNodes; });
}

KafkaServer& KafkaCluster::leader_of(const std::string& topic, int partition) {
  int leader = 0;
  wait_for_nodes("a leader", [&] {
    leader = server().leader_of(topic, partition);
    return leader > 0 && nodes_.at(static_cast<std::size_t>(leader) - 1)->running();
  });
  return *nodes_.at(static_cast<std::size_t>(leader) - 1);
}

KafkaServer& KafkaCluster::coordinator_of(const std::string& group) {
  return leader_of("__consumer_offsets", offsets_partition_of(group));
}

void KafkaCluster::wait_in_step(const std::string& topic) const {
  wait_for_nodes("being in step", [&] {
    return server().replicas_in_step(topic) == kNodes &&
           server().replicas_in_step("__consumer_offsets") == kNodes;
  });
}

}  // namespace semel::test
