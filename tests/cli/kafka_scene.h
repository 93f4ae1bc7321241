// Payments that come from a Kafka topic, on either database.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cli/program.h"
#include "tests/cli/server_scene.h"
#include "tests/support/kafka_server.h"

namespace semel::test {

enum class Ground { kSqlite, kPostgres };
inline std::string name_of_ground(Ground ground) {
  return ground == Ground::kSqlite ? "Sqlite" : "Postgres";
}

class KafkaScene {
 public:
  struct Options {
    int partitions = 3;
    std::string properties = {};  // as in YAML: "a: b, c: d"
    std::string more = {};        // lines of the consumer
    std::string key = "json:/id";
    std::string brokers = {};  // as the program is told; empty: the server's
    std::vector<std::pair<std::string, std::string>> topic = {};  // settings of its own
    std::size_t copied = 3;  // each so-manyth payment comes twice
  };
  KafkaScene(Ground ground, const KafkaServer& server) : KafkaScene(ground, server, Options()) {}
  KafkaScene(Ground ground, const KafkaServer& server, const Options& options);

  const KafkaServer& server() const { return server_; }
  const std::string& topic() const { return topic_; }
  std::string group() const { return topic_ + "-payments"; }
  std::string config() const;
  std::size_t config_lines() const;
  Ran semel(Words words) const;

  // So many new payments of amounts that differ, some of them twice.
  void produce(std::size_t payments);
  // And what they come to.
  std::int64_t produced_sum() const { return sum_; }
  std::size_t produced() const { return next_; }
  std::size_t deliveries() const { return deliveries_; }

  std::int64_t number(const std::string& query) const;
  void sql(const std::string& text) const;
  // Up to that number; 100 are there.
  void add_accounts(int last) const;
  std::int64_t sum() const { return number("SELECT COALESCE(sum(balance), 0) FROM account"); }
  void expect_each_once() const;
  // Offsets back to the first message, and a run: all of it comes again, and nothing happens.
  void expect_nothing_happens_again() const;
  // Of a run's source, as `semel status` shows it: that process's, or the only one's; none: it is
  // not shown.
  std::optional<std::int64_t> figure(std::string_view name, std::optional<pid_t> pid = {}) const;
  // Every partition's offset stands at its end.
  bool all_committed() const;

 private:
  const KafkaServer& server_;
  const int partitions_;
  const std::size_t copied_;
  const std::string topic_;
  std::optional<Scene> sqlite_;
  std::unique_ptr<ServerScene> postgres_;
  std::size_t next_ = 0;
  std::size_t deliveries_ = 0;
  std::int64_t sum_ = 0;
};

}  // namespace semel::test
