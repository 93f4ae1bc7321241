// Payments that come from a Kafka topic, on either database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/cli/ground.h"
#include "tests/support/kafka_server.h"

namespace semel::test {

class KafkaTestBed {
 public:
  struct Options {
    int partitions = 3;
    std::string properties = {};  // as in YAML: "a: b, c: d"
    std::string more = {};        // lines of the consumer
    std::string key = "json:/id";
    std::string brokers = {};  // as the program is told; empty: the server's
    std::vector<std::pair<std::string, std::string>> topic = {};  // settings of its own
    std::size_t copied = 3;   // each so-manyth payment comes twice
    std::string others = {};  // further consumers, as in YAML
  };
  KafkaTestBed(DatabaseKind database_kind, const KafkaServer& server)
      : KafkaTestBed(database_kind, server, Options()) {}
  KafkaTestBed(DatabaseKind database_kind, const KafkaServer& server, const Options& options);

  const KafkaServer& server() const { return server_; }
  const std::string& topic() const { return topic_; }
  std::string group() const { return topic_ + "-payments"; }
  std::string config() const { return ground_.config(); }
  std::size_t config_lines() const { return ground_.config_lines(); }
  Ran semel(Words words) const { return ground_.semel(std::move(words)); }

  // Its topic has so many partitions from now on.
  void add_partitions(int partitions);
  // So many new payments of amounts that differ, some of them twice.
  void produce(std::size_t payments);
  // And what they come to.
  std::int64_t produced_sum() const { return sum_; }
  std::size_t produced() const { return next_; }
  std::size_t deliveries() const { return deliveries_; }

  std::int64_t number(const std::string& query) const { return ground_.number(query); }
  void sql(const std::string& text) const { ground_.sql(text); }
  // Up to that number; 100 are there.
  void add_accounts(int last) const;
  std::int64_t sum() const { return ground_.sum(); }
  void expect_each_once() const { ground_.expect_each_once(next_, sum_); }
  // Offsets back to the first message, and a run: all of it comes again, and nothing happens.
  void expect_nothing_happens_again() const;
  // A figure of a run's source, as `semel status` shows it: that process's, or the only one's;
  // none: it is not shown.
  std::optional<std::int64_t> figure(std::string_view name, std::optional<pid_t> pid = {}) const;
  // Every partition's offset stands at its end.
  bool all_committed() const;

 private:
  const KafkaServer& server_;
  int partitions_;
  const std::size_t copied_;
  const std::string topic_;
  const GroundTestBed ground_;
  std::size_t next_ = 0;
  std::size_t deliveries_ = 0;
  std::int64_t sum_ = 0;
};

}  // namespace semel::test
