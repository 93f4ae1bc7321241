// RabbitmqCluster: nodes of RabbitMQ that are one cluster; each may be killed and started again.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/rabbitmq_server.h"

namespace semel::test {

class RabbitmqCluster {
 public:
  // Returns when all of them are one. A quorum queue that is made then has a replica on each.
  explicit RabbitmqCluster(std::size_t nodes);

  RabbitmqServer& node(std::size_t number) const { return *nodes_.at(number); }
  std::size_t size() const noexcept { return nodes_.size(); }
  // For all nodes, with the vhost / and the user owner.
  std::string url() const;
  // The number of the node that leads this queue, according to node `asked`; none if there is no
  // leader.
  std::optional<std::size_t> leader_of(const std::string& queue, std::size_t asked) const;

 private:
  // Starts the name server, and returns its port when it answers.
  int keep_names();

  // The server through which nodes find each other: it must outlive all of them.
  std::unique_ptr<ServerProcess> names_;
  std::vector<std::unique_ptr<RabbitmqServer>> nodes_;
};

}  // namespace semel::test
