// KafkaCluster: three Kafkas as one cluster. A topic has three replicas, and a write needs two.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "tests/support/kafka_server.h"

namespace semel::test {

// Failures throw std::runtime_error.
class KafkaCluster {
 public:
  static constexpr int kNodes = 3;

  KafkaCluster();

  // Sends requests to all nodes, whichever of them run.
  const KafkaServer& server() const { return *nodes_[0]; }
  // The node that currently leads the partition or coordinates the group. Waits until there is one
  // that runs.
  KafkaServer& leader_of(const std::string& topic, int partition);
  KafkaServer& coordinator_of(const std::string& group);
  // Each partition of the topic has all its replicas in step again.
  void wait_in_step(const std::string& topic) const;

 private:
  std::array<std::unique_ptr<KafkaServer>, kNodes> nodes_;
};

}  // namespace semel::test
