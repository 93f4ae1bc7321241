#include "clients/kafka/errors.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <iterator>

namespace semel::kafka {
namespace {

enum class When { kFinal, kFinalAtFirst, kWait };

struct Row {
  rd_kafka_resp_err_t code;
  When when;
  const char* page;
  const char* what;
  const char* hint;
};

constexpr const char* kGrant =
    "allow READ on the topics and on the group: kafka-acls --add --allow-principal User:NAME "
    "--operation Read --topic orders --group billing";

constexpr Row kTable[] = {
    {RD_KAFKA_RESP_ERR__AUTHENTICATION, When::kFinalAtFirst, "R301",
     "the Kafka brokers refuse the login",
     "check sasl.mechanism, sasl.username and sasl.password in kafka.properties"},
    {RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, When::kFinalAtFirst, "R301",
     "the Kafka brokers refuse the login",
     "check sasl.mechanism, sasl.username and sasl.password in kafka.properties"},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM, When::kFinalAtFirst, "R301",
     "the Kafka brokers refuse the login", "check sasl.mechanism in kafka.properties"},
    {RD_KAFKA_RESP_ERR__SSL, When::kFinalAtFirst, "R302",
     "TLS with the Kafka brokers does not come about",
     "check security.protocol and ssl.ca.location in kafka.properties"},
    {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, When::kWait, "R303", "a topic is not there any more",
     "make it again, or take it out of kafka.topics"},
    {RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, When::kWait, "R303", "a topic is not there any more",
     "make it again, or take it out of kafka.topics"},
    {RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, When::kWait, "R303", "a partition is not there any more",
     "make it again, or take it out of kafka.topics"},
    {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, When::kFinal, "R304",
     "this user may not read a topic", kGrant},
    {RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, When::kFinal, "R304",
     "this user may not be a member of the group", kGrant},
    {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, When::kFinal, "R304",
     "this user may not use the cluster", kGrant},
    {RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, When::kFinal, "R305",
     "another process has the same group.instance.id",
     "give each process its own: group.instance.id: ${HOSTNAME}"},
    {RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL, When::kFinal, "R306",
     "the group's other members have another partition.assignment.strategy",
     "give all members one partition.assignment.strategy, or name another group"},
    {RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, When::kFinal, "R307",
     "the group has no offset that the broker still has",
     "set the group's offsets, or begin at an end of the topic: from: earliest, or latest"},
    {RD_KAFKA_RESP_ERR__INVALID_ARG, When::kFinal, "R308", "librdkafka refuses a setting",
     "mend what it names in kafka.properties"},
    {RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT, When::kFinal, "R308",
     "the broker refuses the session's timeout",
     "session.timeout.ms between the broker's group.min.session.timeout.ms and its "
     "group.max.session.timeout.ms"},
    {RD_KAFKA_RESP_ERR_INVALID_GROUP_ID, When::kFinal, "R308",
     "the broker refuses the group's name", "name another group"},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION, When::kFinal, "R309",
     "the broker does not speak what is asked of it", "use Kafka 0.11 or newer"},
    {RD_KAFKA_RESP_ERR__FATAL, When::kFinal, "R309", "librdkafka cannot go on", ""},
};

const Row* row_of(int code) {
  const auto* const found = std::find_if(std::begin(kTable), std::end(kTable), [&](const Row& row) {
    return static_cast<int>(row.code) == code;
  });
  return found == std::end(kTable) ? nullptr : found;
}

}  // namespace

Error error_of(int code, std::string_view said, bool connected) {
  const Row* const row = row_of(code);
  // A code without a row is a passing error of the network or a broker.
  if (row == nullptr) {
    return {ErrorKind::kUnavailable, "R300", std::string(said), "look at the broker and its log"};
  }
  const bool final = row->when == When::kFinal || (row->when == When::kFinalAtFirst && !connected);
  return {final ? ErrorKind::kRejected : ErrorKind::kUnavailable, row->page,
          said.empty() ? std::string(row->what) : fmt::format("{}: {}", row->what, said),
          row->hint};
}

bool is_missing(int code) noexcept {
  return code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
         code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC || code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
}

std::string what_is(int code) { return rd_kafka_err2str(static_cast<rd_kafka_resp_err_t>(code)); }

std::string_view without_times(std::string_view text) noexcept {
  return text.substr(0, text.find(" (after "));
}

Error brokers_away(std::string_view brokers, std::string_view said) {
  return {ErrorKind::kUnavailable, "R300",
          said.empty() ? fmt::format("no Kafka broker answers at {}", brokers)
                       : fmt::format("no Kafka broker answers at {}: {}", brokers, said),
          "start it, or check kafka.brokers and security.protocol"};
}

Error no_such_topic(std::string_view topic) {
  return {ErrorKind::kRejected, "R303", fmt::format("there is no topic {}", topic),
          fmt::format("make it: kafka-topics --bootstrap-server … --create --topic {} "
                      "--partitions 12; or check the name",
                      topic)};
}

}  // namespace semel::kafka
