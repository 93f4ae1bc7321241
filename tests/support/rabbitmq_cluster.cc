#include "tests/support/rabbitmq_cluster.h"

#include <fmt/format.h>

#include <stdexcept>

#include "tests/support/waiting.h"

namespace semel::test {
namespace {

// Its nodes are reached at 127.0.0.1 alone.
constexpr const char* kCookie = "TESTSOFONEMACHINE";
constexpr int kNamesPorts = 20;

}  // namespace

RabbitmqCluster::RabbitmqCluster(std::size_t nodes) {
  const int names = keep_names();
  for (std::size_t i = 0; i < nodes; ++i) {
    RabbitmqServer::Options options{
        .terms = {}, .certificate = {}, .key = {}, .cookie = kCookie, .names_port = names};
    // The first one begins alone, the others join it when they begin for the first time.
    if (i > 0) {
      options.terms.push_back(fmt::format("{{cluster_nodes, {{['{}'], disc}}}}", node(0).node()));
    }
    nodes_.push_back(std::make_unique<RabbitmqServer>(std::move(options)));
  }
}

int RabbitmqCluster::keep_names() {
  static const TempDir folder;
  const auto command = [](std::vector<std::string> words) {
    return ServerCommand{.arguments = std::move(words),
                         .folder = folder.path().string(),
                         .output = folder.file("names"),
                         .user = {},
                         .group = {}};
  };
  for (int i = 0; i < kNamesPorts; ++i) {
    const int port = free_port();
    const std::string place = std::to_string(port);
    names_ = std::make_unique<ServerProcess>(
        command({"/usr/bin/env", "epmd", "-port", place, "-address", "127.0.0.1"}));
    const auto answers = [&] {
      return run_to_end(
                 command({"/usr/bin/env", "timeout", "60", "epmd", "-port", place, "-names"})) == 0;
    };
    // It ends if another program has taken the port meanwhile.
    if (comes_true([&] { return !names_->running() || answers(); }) && names_->running()) {
      return port;
    }
  }
  throw std::runtime_error("nobody keeps the names of a cluster:\n" +
                           read_file(folder.file("names")));
}

std::string RabbitmqCluster::url() const {
  std::string places;
  for (const auto& each : nodes_) {
    places += fmt::format("{}127.0.0.1:{}", places.empty() ? "" : ",", each->port());
  }
  return fmt::format("amqp://owner:right@{}/%2F", places);
}

std::optional<std::size_t> RabbitmqCluster::leader_of(const std::string& queue,
                                                      std::size_t asked) const {
  const std::string leader = node(asked).of_queue(queue, "leader");
  for (std::size_t i = 0; i < size(); ++i) {
    if (leader == node(i).node()) return i;
  }
  return std::nullopt;
}

}  // namespace semel::test
