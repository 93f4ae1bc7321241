#include "handlers/kafka/report.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <semel/reason.h>

#include "clients/kafka/errors.h"
#include "core/kafka_spec.h"

namespace semel::kafka {

namespace {

using Broker = Judged::Broker;

// The part that is at fault, and thereby who can fix it.
enum class Trouble {
  kMessage,  // the message itself: nobody can fix it
  kTopic,    // the topic: its operator can
  kCluster,  // the cluster, or our rights there
};

struct Row {
  rd_kafka_resp_err_t code;
  Trouble trouble;
  const char* word;
  const char* what;
};

constexpr const char* kDenied = "this user may not write it: allow WRITE on the topic";

constexpr Row kRows[] = {
    {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, Trouble::kMessage, "too_large",
     "larger than message.max.bytes of the producer, or max.message.bytes of the topic"},
    {RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, Trouble::kMessage, "too_large",
     "larger than the broker's segments"},
    {RD_KAFKA_RESP_ERR_INVALID_RECORD, Trouble::kMessage, "invalid",
     "the broker does not take such a record: a compacted topic wants a key"},
    {RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, Trouble::kCluster, "broker",
     "the broker does not take this machine's time: set its clock"},
    {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, Trouble::kTopic, "topic",
     "there is no such topic: make it"},
    {RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, Trouble::kTopic, "topic", "there is no such topic: make it"},
    {RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, Trouble::kTopic, "topic",
     "there is no such partition: make it"},
    {RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, Trouble::kTopic, "topic",
     "the broker takes nothing for this topic"},
    {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, Trouble::kTopic, "denied", kDenied},
    {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, Trouble::kCluster, "denied",
     "this user may not write to the cluster: allow WRITE on the topic, or IDEMPOTENT_WRITE on a "
     "cluster older than 2.8"},
    {RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, Trouble::kCluster, "denied",
     "the brokers refuse the login"},
    {RD_KAFKA_RESP_ERR__AUTHENTICATION, Trouble::kCluster, "denied",
     "the brokers refuse the login"},
    {RD_KAFKA_RESP_ERR__FATAL, Trouble::kCluster, "fatal", "the producer had to be made anew"},
    {RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, Trouble::kCluster, "fatal",
     "the producer had to be made anew"},
    {RD_KAFKA_RESP_ERR__PURGE_QUEUE, Trouble::kCluster, "fatal",
     "the producer had to be made anew"},
};

const Row* row_of(int code) {
  const auto* const found = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) {
    return static_cast<int>(row.code) == code;
  });
  return found == std::end(kRows) ? nullptr : found;
}

Judged again(std::string_view word, std::string why, Broker broker, bool unknown) {
  return core::judged_again(reason::kafka_reason(word), std::move(why), broker, unknown);
}

Judged given_up(std::string_view word, std::string why, Broker broker) {
  return core::judged_dead(reason::kafka_reason(word), std::move(why), broker);
}

Judged timed_out(const Report& report, const ReportContext& context) {
  const bool perhaps = report.kept != Report::Kept::kNo;
  std::string why =
      fmt::format("{} within {} ms", perhaps ? "no broker confirmed it" : "no Kafka broker took it",
                  context.timeout.count());
  if (!context.said.empty()) why += ": " + context.said;
  return again(perhaps ? "timeout" : "connect", std::move(why), Broker::kAtFault, perhaps);
}

}  // namespace

bool speaks_for_a_batch(int code) noexcept {
  const Row* const row = row_of(code);
  return row != nullptr && row->trouble == Trouble::kMessage;
}

bool has_word(int code) noexcept { return row_of(code) != nullptr; }

Judged judge(const Report& report, const ReportContext& context) {
  if (report.code == RD_KAFKA_RESP_ERR_NO_ERROR) {
    Judged made;
    made.verdict = done(fmt::format("{}-{}-{}", report.topic, report.partition, report.offset));
    return made;
  }
  if (report.code == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT) return timed_out(report, context);
  const bool perhaps = report.kept != Report::Kept::kNo;
  const Row* const row = row_of(report.code);
  if (row == nullptr) {
    // Perhaps its partition alone.
    return again("broker", fmt::format("topic {}: {}", report.topic, what_is(report.code)),
                 context.many_topics ? Broker::kSilent : Broker::kRefuses, perhaps);
  }
  std::string why = fmt::format("topic {}: {} ({})", report.topic, row->what, what_is(report.code));
  if (row->trouble == Trouble::kMessage) {
    // The record may be there, or another one of its batch may be at fault: the next attempt tells.
    if (perhaps) return again(row->word, std::move(why), Broker::kWorks, true);
    return given_up(row->word, std::move(why), Broker::kWorks);
  }
  const bool silent = row->trouble == Trouble::kTopic && context.many_topics;
  return again(row->word, std::move(why), silent ? Broker::kSilent : Broker::kAtFault, perhaps);
}

Judged judge_stopped(std::chrono::milliseconds after) {
  return again("timeout",
               fmt::format("no report after {} ms: the attempt was stopped", after.count()),
               Broker::kSilent, true);
}

Judged judge_no_topic(const std::string& topic) {
  return given_up("topic", fmt::format("\"{}\" is not a topic's name", topic), Broker::kSilent);
}

}  // namespace semel::kafka
