#include "core/kafka_spec.h"

#include <algorithm>
#include <array>

namespace semel::core {
namespace {

struct OwnField {
  std::string_view name;
  std::string_view why;
  std::string_view help;
};

constexpr std::string_view kCommits =
    "commits what was read, and Semel commits what was recorded: a crash between the two would "
    "lose messages";
constexpr std::string_view kLeaveOut = "leave it out";
constexpr std::string_view kHasField = "is said by a field of its own";

constexpr std::array kOwnFields = {
    OwnField{"enable.auto.commit", kCommits, kLeaveOut},
    OwnField{"auto.commit.enable", kCommits, kLeaveOut},
    OwnField{"auto.commit.interval.ms", kCommits, kLeaveOut},
    OwnField{"enable.auto.offset.store", kCommits, kLeaveOut},
    OwnField{"offset.store.method", kCommits, kLeaveOut},
    OwnField{"enable.partition.eof", "is how Semel knows a partition's end", kLeaveOut},
    OwnField{"bootstrap.servers", kHasField, "kafka: { brokers: host:9092 }"},
    OwnField{"metadata.broker.list", kHasField, "kafka: { brokers: host:9092 }"},
    OwnField{"group.id", kHasField, "kafka: { group: billing }"},
    OwnField{"auto.offset.reset", kHasField, "kafka: { from: earliest }, latest or fail"},
    OwnField{"topic.blacklist", "hides topics that the config names", "topics: [orders]"},
};

constexpr std::array kSecrets = {"password", "secret", "sasl.oauthbearer.config", "ssl.key.pem"};

}  // namespace

const char* to_string(KafkaSpec::From from) noexcept {
  switch (from) {
    case KafkaSpec::From::kEarliest:
      return "earliest";
    case KafkaSpec::From::kLatest:
      return "latest";
    case KafkaSpec::From::kFail:
      return "fail";
  }
  return "earliest";
}

std::optional<KafkaPropertyFlaw> kafka_property_flaw(std::string_view name,
                                                     std::string_view value) {
  for (const OwnField& own : kOwnFields) {
    if (own.name == name) return KafkaPropertyFlaw{std::string(own.why), std::string(own.help)};
  }
  if (name == "isolation.level" && value != "read_committed") {
    return KafkaPropertyFlaw{
        "brings messages of transactions that were never committed, and their effects with them",
        "isolation.level: read_committed, or leave it out"};
  }
  return std::nullopt;
}

bool is_kafka_secret(std::string_view name) noexcept {
  return std::any_of(kSecrets.begin(), kSecrets.end(), [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  });
}

bool is_kafka_topic(std::string_view name) noexcept {
  constexpr std::size_t kLongest = 249;
  if (name.empty() || name.size() > kLongest || name == "." || name == "..") return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

}  // namespace semel::core
