// Payments that come from a RabbitMQ queue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tests/cli/program.h"
#include "tests/support/rabbitmq_server.h"

namespace semel::test {

class RabbitmqScene {
 public:
  struct Options {
    std::string type = "quorum";
    std::string more_of_source = {};  // as in YAML: "prefetch: 5, heartbeat: 2s"
    std::string more = {};            // lines of the consumer
    std::string key = "json:/id";
    bool slow = false;  // each message takes a second, by a command
  };
  explicit RabbitmqScene(const RabbitmqServer& server) : RabbitmqScene(server, Options()) {}
  RabbitmqScene(const RabbitmqServer& server, const Options& options);

  const RabbitmqServer& server() const { return server_; }
  const std::string& queue() const { return queue_; }
  std::string config() const { return scene_->config(); }
  Ran semel(Words words) const { return scene_->semel(std::move(words)); }
  // One run to the end, with another value in the source's place.
  Ran run_with(const std::string& set) const;

  // So many new payments of amounts that differ, every third of them twice.
  void publish(std::size_t payments);
  std::int64_t published_sum() const { return sum_; }
  std::size_t published() const { return next_; }
  std::size_t deliveries() const { return deliveries_; }

  std::int64_t number(const std::string& query) const { return scene_->number(query); }
  std::int64_t sum() const { return number("SELECT COALESCE(sum(balance), 0) FROM account"); }
  bool all_done() const { return sum() == sum_; }
  void expect_each_once() const;

 private:
  const RabbitmqServer& server_;
  const std::string queue_;
  std::optional<Scene> scene_;
  std::size_t next_ = 0;
  std::size_t deliveries_ = 0;
  std::int64_t sum_ = 0;
};

}  // namespace semel::test
