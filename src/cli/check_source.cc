#include "cli/check_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <variant>

#include "cli/text.h"
#include "compose/compose.h"
#include "core/age_gate.h"
#include "core/guarantee.h"
#include "core/retention.h"

namespace semel::cli {

namespace {

std::string kafka_text(const core::KafkaSpec& spec) {
  using From = core::KafkaSpec::From;
  const char* begins = "begins at the first message there is";
  if (spec.from == From::kLatest) begins = "begins after the newest message";
  if (spec.from == From::kFail) begins = "does not begin";
  return fmt::format("reads as group {} at {}; without an offset of its own it {}",
                     printable(spec.group, 60), printable(spec.brokers, 120), begins);
}

std::string http_text(const core::HttpSourceSpec& spec) {
  const char* signs = "anybody who reaches it may send";
  if (spec.signature) {
    using Scheme = core::HttpSignature::Scheme;
    signs = "signed as in Standard Webhooks";
    if (spec.signature->scheme == Scheme::kStripe) signs = "signed as by Stripe";
    if (spec.signature->scheme == Scheme::kGithub) signs = "signed as by GitHub";
  }
  return fmt::format("takes POST {} at {}{}, {}; {}", printable(spec.path, 120),
                     spec.tls ? "https://" : "http://", spec.listen.text(), signs,
                     spec.mode == core::HttpSourceSpec::Mode::kCompleted
                         ? "200 when it is done"
                         : "202 when the store keeps it");
}

std::string rabbitmq_text(const core::RabbitmqSpec& spec) {
  const char* made = "has to be there";
  if (spec.declare) {
    made = spec.type == core::RabbitmqSpec::QueueType::kQuorum ? "is made as a quorum queue"
                                                               : "is made as a classic queue";
  }
  return fmt::format("consumes in vhost {} at {}, up to {} at a time; the queue {}",
                     printable(spec.address.vhost, 60), printable(spec.address.place(), 120),
                     spec.prefetch, made);
}

std::string nats_text(const core::NatsSpec& spec) {
  std::string made = "has to be there";
  if (spec.declare) {
    made = fmt::format("is made for {}, and brings again after {} what a dead process had in hand",
                       spec.subject.empty() ? "all subjects" : printable(spec.subject, 60),
                       core::duration_text(spec.ack_wait));
  }
  return fmt::format("pulls from durable {} of stream {} at {}, up to {} at a time; the durable {}",
                     printable(spec.durable, 60), printable(spec.stream, 60),
                     printable(spec.address.place(), 120), spec.prefetch, made);
}

std::string redis_streams_text(const core::RedisStreamsSpec& spec) {
  const char* made = "has to be there";
  if (spec.declare) {
    made = spec.from == core::RedisStreamsSpec::From::kEarliest
               ? "is made where it is not there, from the first entry on"
               : "is made where it is not there, from after the last entry on";
  }
  const std::string member = spec.consumer.empty() ? std::string("under a new name for each run")
                                                   : "as " + printable(spec.consumer, 60);
  return fmt::format(
      "reads in group {} {}, up to {} at a time; a member that is silent for {} is "
      "taken for dead; the group {}",
      printable(spec.group, 60), member, spec.prefetch, core::duration_text(spec.claim_after),
      made);
}

std::string sqs_text(const core::SqsSpec& spec) {
  return fmt::format(
      "reads the {} queue at {} in region {}, up to {} at a time, each hidden for {} and renewed; "
      "what its redrive policy takes away first is told by semel doctor",
      spec.queue.fifo() ? "FIFO" : "standard", printable(spec.queue.host, 120),
      printable(spec.region, 60), spec.prefetch, core::duration_text(spec.visibility));
}

// How a source is read, and how its broker removes repeats; empty: unknown.
struct SourceTexts {
  std::string reads;
  std::string window;
};

struct SourceTeller {
  SourceTexts operator()(const config::HttpSource& source) const {
    return {http_text(source.spec), {}};
  }
  SourceTexts operator()(const config::KafkaSource& source) const {
    return {kafka_text(source.spec), "Kafka drops only what one producer's session repeats"};
  }
  SourceTexts operator()(const config::NatsSource& source) const {
    return {nats_text(source.spec),
            fmt::format("JetStream drops what is published again under a Nats-Msg-Id within its "
                        "stream's window, {} unless that says otherwise",
                        core::duration_text(core::kNatsDeduplicates))};
  }
  SourceTexts operator()(const config::RabbitmqSource& source) const {
    return {rabbitmq_text(source.spec),
            "RabbitMQ drops no repeats without its message deduplication plugin"};
  }
  SourceTexts operator()(const config::RedisStreamsSource& source) const {
    return {redis_streams_text(source.spec), "Redis adds a repeat as another entry"};
  }
  SourceTexts operator()(const config::SqsSource& source) const {
    return {sqs_text(source.spec),
            source.spec.queue.fifo()
                ? fmt::format("SQS drops what is sent again under a deduplication id within {}",
                              core::duration_text(core::kSqsDeduplicates))
                : "SQS drops no repeats in a standard queue"};
  }
  template <class Other>
  SourceTexts operator()(const Other&) const {
    return {};
  }
};

// Where a source says by its broker's clock how old a message is; empty: never.
struct AgeTeller {
  std::optional<std::string> operator()(const config::SqsSource&) const { return ""; }
  std::optional<std::string> operator()(const config::NatsSource&) const {
    return "where the stream has a max_age, ";
  }
  std::optional<std::string> operator()(const config::KafkaSource&) const {
    return "of topics with LogAppendTime that do not keep for ever, ";
  }
  std::optional<std::string> operator()(const config::NativeSource& source) const {
    if (!source.traits.horizon) return std::nullopt;
    return "where the source gives its broker's time, ";
  }
  std::optional<std::string> operator()(const auto&) const { return std::nullopt; }
};

// The fate of a message that is too old, for people.
std::string too_old(const config::ConsumerConfig& consumer) {
  const auto limit = compose::age_limit_of(consumer);
  const auto where = std::visit(AgeTeller(), consumer.source);
  if (!limit || !where) return {};
  return fmt::format("; {}what is older than {} and has no record is {}", *where,
                     core::duration_text(limit->oldest), limit->discards ? "discarded" : "parked");
}

std::string known_for(const config::ConsumerConfig& consumer) {
  if (!core::has_record(consumer.strategy)) {
    return fmt::format("strategy {} keeps no record of it", core::to_string(consumer.strategy));
  }
  const auto ttl = config::effective_ttl(consumer);
  if (!ttl) return "the record knows a key for ever";
  return "the record knows a key for " + core::duration_text(*ttl) + too_old(consumer);
}

}  // namespace

std::string configured_source(const config::ConsumerConfig& consumer) {
  if (const auto* file = std::get_if<config::FileSource>(&consumer.source)) {
    return "file " + file->spec.path;
  }
  if (const auto* http = std::get_if<config::HttpSource>(&consumer.source)) {
    return "http " + http->spec.listen.text() + http->spec.path;
  }
  if (const auto* kafka = std::get_if<config::KafkaSource>(&consumer.source)) {
    return fmt::format("kafka {}", fmt::join(kafka->spec.topics, ", "));
  }
  if (const auto* rabbitmq = std::get_if<config::RabbitmqSource>(&consumer.source)) {
    return "rabbitmq " + rabbitmq->spec.queue;
  }
  if (const auto* nats = std::get_if<config::NatsSource>(&consumer.source)) {
    return fmt::format("nats {}/{}", nats->spec.stream, nats->spec.durable);
  }
  if (const auto* streams = std::get_if<config::RedisStreamsSource>(&consumer.source)) {
    return "redis_streams " + printable(streams->spec.stream, 60);
  }
  if (const auto* sqs = std::get_if<config::SqsSource>(&consumer.source)) {
    return "sqs " + sqs->spec.queue.name;
  }
  return std::string(config::name_of(consumer.source));
}

std::vector<std::string> source_flow(const config::ConsumerConfig& consumer) {
  SourceTexts texts = std::visit(SourceTeller(), consumer.source);
  std::vector<std::string> lines;
  if (!texts.reads.empty()) lines.push_back(std::move(texts.reads));
  if (!texts.window.empty()) {
    lines.push_back(fmt::format("{}; {}", texts.window, known_for(consumer)));
  }
  return lines;
}

}  // namespace semel::cli
