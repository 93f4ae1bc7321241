#include "tests/cli/kafka_test_bed.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace semel::test {
namespace {

std::string consumer_of(const std::string& brokers, const std::string& topic,
                        const KafkaTestBed::Options& options) {
  return fmt::format(
      "    source:\n"
      "      kafka:\n"
      "        brokers: \"{}\"\n"
      "        group: {}-payments\n"
      "        topics: [{}]\n"
      "        properties: {{ {} }}\n"
      "    key: {}\n{}{}{}",
      brokers, topic, topic, options.properties, options.key, options.more, kPaymentHandler,
      options.others);
}

}  // namespace

KafkaTestBed::KafkaTestBed(DatabaseKind database_kind, const KafkaServer& server,
                           const Options& options)
    : server_(server),
      partitions_(options.partitions),
      copied_(options.copied),
      topic_(server.new_topic(options.partitions, options.topic)),
      ground_(database_kind,
              consumer_of(options.brokers.empty() ? server.brokers() : options.brokers, topic_,
                          options)) {}

void KafkaTestBed::add_accounts(int last) const {
  sql(
      fmt::format("WITH RECURSIVE n(i) AS (SELECT 101 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
                  "INSERT INTO account (id, balance) SELECT i, 0 FROM n",
                  last));
}

void KafkaTestBed::add_partitions(int partitions) {
  server_.add_partitions(topic_, partitions);
  partitions_ = partitions;
}

void KafkaTestBed::produce(std::size_t payments) {
  std::vector<KafkaServer::Record> records;
  for (std::size_t i = 0; i < payments; ++i, ++next_) {
    const int amount = static_cast<int>(next_ % 97) + 1;
    std::string value =
        payment(fmt::format("p-{}", next_), static_cast<int>(next_ % 100) + 1, amount);
    sum_ += amount;
    const int copies = next_ % copied_ == 0 ? 2 : 1;
    // A copy may stand in another partition, and be another member's.
    for (int copy = 0; copy < copies; ++copy) {
      records.push_back(
          {.value = value,
           .partition = static_cast<int>(next_ + static_cast<std::size_t>(copy)) % partitions_});
    }
  }
  server_.produce(topic_, records);
  deliveries_ += records.size();
}

void KafkaTestBed::expect_nothing_happens_again() const {
  server_.reset_offsets(group(), topic_, partitions_);
  // One that stood still for longer than a short session would be given some of it again.
  const Ran again = semel({"run", "--once", "-o", "json", "-q", "--set",
                           "consumers[0].source.kafka.properties={session.timeout.ms: 45000}"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(json_at(again.out, "/deliveries"), std::to_string(deliveries_)) << again.out;
  EXPECT_EQ(json_at(again.out, "/effects"), "0") << again.out;
  expect_each_once();
}

std::optional<std::int64_t> KafkaTestBed::figure(std::string_view name,
                                                 std::optional<pid_t> pid) const {
  const std::string told = semel({"status", "-o", "json"}).out;
  for (int i = 0;; ++i) {
    const std::string source = fmt::format("/consumers/0/sources/{}", i);
    const std::string process = json_at(told, source + "/pid");
    if (process.starts_with('(')) return std::nullopt;
    if (pid && process != std::to_string(*pid)) continue;
    for (int j = 0;; ++j) {
      const std::string at = fmt::format("{}/figures/{}", source, j);
      const std::string called = json_at(told, at + "/name");
      if (called.starts_with('(')) return std::nullopt;
      const bool of_all = json_at(told, at + "/partition").starts_with('(');
      if (called == name && of_all) return std::stoll(json_at(told, at + "/value"));
    }
  }
}

bool KafkaTestBed::all_committed() const {
  for (int i = 0; i < partitions_; ++i) {
    const auto end = server_.end_of(topic_, i);
    if (end > 0 && server_.committed(group(), topic_, i) != end) return false;
  }
  return true;
}

}  // namespace semel::test
