#include "core/kafka_publish_spec.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/publish_headers.h"

namespace semel::core {
namespace {

bool never(std::string_view) { return false; }
bool is_true(std::string_view value) { return value == "true"; }
bool is_all(std::string_view value) { return value == "all" || value == "-1"; }
bool is_fifo(std::string_view value) { return value == "fifo"; }
bool keeps_keys(std::string_view value) { return value != "random"; }

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// As many as a broker tracks for each producer.
bool keeps_order(std::string_view value) {
  constexpr int kMost = 5;
  const auto number = number_of(value);
  return number && *number >= 1 && *number <= kMost;
}

bool is_positive(std::string_view value) { return number_of(value).value_or(0) > 0; }

struct Rule {
  std::string_view name;
  bool (*keeps)(std::string_view value);
  std::string_view why;
  std::string_view help;
};

constexpr std::string_view kLeaveItOut = "leave it out";
constexpr std::string_view kOwnField = "is said by a field of its own";
constexpr std::string_view kBeforeAll =
    "says that a record is kept before every replica in step has it: it may be lost then";
constexpr std::string_view kOutOfOrder = "lets records overtake each other, and repeat, on a retry";
constexpr std::string_view kNoRetry =
    "gives a record up at the first trouble of a broker, which librdkafka rides out by itself";
constexpr std::string_view kOwnTransaction =
    "begins transactions that nobody commits: a record and its key commit in Semel's store";

constexpr std::array kRules = {
    Rule{"enable.idempotence", is_true,
         "lets the broker keep a record twice where its answer was lost", kLeaveItOut},
    Rule{"acks", is_all, kBeforeAll, "acks: all, or leave it out"},
    Rule{"request.required.acks", is_all, kBeforeAll, "acks: all, or leave it out"},
    Rule{"max.in.flight", keeps_order, kOutOfOrder, "from 1 to 5, or leave it out"},
    Rule{"max.in.flight.requests.per.connection", keeps_order, kOutOfOrder,
         "from 1 to 5, or leave it out"},
    Rule{"retries", is_positive, kNoRetry, kLeaveItOut},
    Rule{"message.send.max.retries", is_positive, kNoRetry, kLeaveItOut},
    Rule{"queuing.strategy", is_fifo, kOutOfOrder, kLeaveItOut},
    Rule{"partitioner", keeps_keys, "scatters the records of one key, and their order with them",
         "partitioner: murmur2_random, or leave it out"},
    Rule{"delivery.report.only.error", never,
         "keeps silent of what was published, and nothing is done before it is told", kLeaveItOut},
    Rule{"enable.gapless.guarantee", never,
         "ends the producer where one record is given up, and all others with it", kLeaveItOut},
    Rule{"transactional.id", never, kOwnTransaction, kLeaveItOut},
    Rule{"transaction.timeout.ms", never, kOwnTransaction, kLeaveItOut},
    Rule{"message.timeout.ms", never, kOwnField, "timeout: 30s, of the consumer"},
    Rule{"delivery.timeout.ms", never, kOwnField, "timeout: 30s, of the consumer"},
    Rule{"bootstrap.servers", never, kOwnField, "kafka: { brokers: host:9092 }"},
    Rule{"metadata.broker.list", never, kOwnField, "kafka: { brokers: host:9092 }"},
    Rule{"test.mock.num.brokers", never, "publishes to brokers that keep nothing", kLeaveItOut},
};

}  // namespace

std::optional<Bytes> kafka_key_of(const Message& message) { return Bytes(message.ordering_key()); }

Headers kafka_headers_of(const Message& message) { return headers_with_key(message); }

std::optional<KafkaPropertyFlaw> kafka_producer_property_flaw(std::string_view name,
                                                              std::string_view value) {
  const auto* const rule = std::find_if(kRules.begin(), kRules.end(),
                                        [&](const Rule& each) { return each.name == name; });
  if (rule == kRules.end() || rule->keeps(value)) return std::nullopt;
  return KafkaPropertyFlaw{std::string(rule->why), std::string(rule->help)};
}

}  // namespace semel::core
