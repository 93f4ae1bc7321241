#include "config/publish_build.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/passwords.h"
#include "config/kafka_build.h"
#include "config/nats_build.h"
#include "config/node.h"
#include "config/rabbitmq_build.h"
#include "config/redis_streams_build.h"
#include "config/secrets.h"
#include "config/sqs_build.h"
#include "config/store_build.h"

namespace semel::config {
namespace {

void refuse_route(const View& rabbitmq, const char* name, const std::string& what,
                  const std::string& help, Report& report) {
  const auto* setting = rabbitmq.find(name);
  const auto place =
      setting != nullptr ? setting->place : rabbitmq.settings().place_of(rabbitmq.path());
  report.error("E038", place, rabbitmq.path(name), rabbitmq.path(name) + what).help = help;
}

void build_route(const View& rabbitmq, core::RabbitmqPublishSpec& spec, Report& report) {
  const bool queue = rabbitmq.find("queue") != nullptr;
  const bool exchange = rabbitmq.find("exchange") != nullptr;
  if (queue == exchange) {
    refuse_route(
        rabbitmq, "queue",
        queue ? ": a queue, or an exchange, but not both" : ": neither a queue nor an exchange",
        "queue: orders; or exchange: events, with a routing_key", report);
    return;
  }
  if (queue) {
    spec.route.routing_key = rabbitmq.text("queue");
    if (rabbitmq.find("routing_key") != nullptr) {
      refuse_route(rabbitmq, "routing_key", ": a queue is reached by its name alone",
                   "leave it out, or name an exchange", report);
    }
    if (const auto flaw = core::rabbitmq_queue_flaw(spec.route.routing_key, false)) {
      const auto* setting = rabbitmq.find("queue");
      report
          .error("E014", setting->place, setting->path,
                 fmt::format("{}: {} {}", setting->path, in_quotes(setting->text), *flaw))
          .help = "queue: orders";
    }
    return;
  }
  spec.route = {rabbitmq.text("exchange"), rabbitmq.text("routing_key")};
  const auto check = [&](const char* name, const std::optional<std::string>& flaw) {
    const auto* setting = rabbitmq.find(name);
    if (!flaw || setting == nullptr) return;
    report
        .error("E014", setting->place, setting->path,
               fmt::format("{}: {} {}", setting->path, in_quotes(setting->text), *flaw))
        .help = "exchange: events, routing_key: orders.paid";
  };
  check("exchange", spec.route.exchange.empty()
                        ? std::optional<std::string>("is not an exchange's name")
                        : core::rabbitmq_exchange_flaw(spec.route.exchange));
  check("routing_key", core::rabbitmq_routing_key_flaw(spec.route.routing_key));
}

// Refuses to publish to the consumer's own source: each message would come again as a new one, or
// find its own record.
void refuse_circle(const View& handler, const char* name, Report& report) {
  const std::string path = handler.path(name);
  auto& made = report.error(
      "E053", handler.place(name), path,
      fmt::format("{}: {} is what this consumer reads", path, in_quotes(handler.text(name))));
  made.detail.push_back("each message would come back to it, for ever");
  made.help = "publish it elsewhere";
}

void check_kafka_circle(const ConsumerConfig& consumer, const View& handler, Report& report) {
  const auto* to = std::get_if<KafkaHandler>(&consumer.handler);
  const auto* from = std::get_if<KafkaSource>(&consumer.source);
  if (to == nullptr || from == nullptr || to->spec.brokers != from->spec.brokers ||
      std::ranges::count(from->spec.topics, to->spec.topic) == 0) {
    return;
  }
  refuse_circle(handler.in("kafka"), "topic", report);
}

void check_rabbitmq_circle(const ConsumerConfig& consumer, const View& handler, Report& report) {
  const auto* to = std::get_if<RabbitmqHandler>(&consumer.handler);
  const auto* from = std::get_if<RabbitmqSource>(&consumer.source);
  if (to == nullptr || from == nullptr || !to->spec.route.exchange.empty() ||
      to->spec.route.routing_key != from->spec.queue ||
      to->spec.address.nodes != from->spec.address.nodes ||
      to->spec.address.vhost != from->spec.address.vhost) {
    return;
  }
  const View rabbitmq = handler.in("rabbitmq");
  if (rabbitmq.find("queue") != nullptr) refuse_circle(rabbitmq, "queue", report);
}

void check_redis_streams_circle(const ConsumerConfig& consumer, const View& handler,
                                Report& report) {
  const auto* to = std::get_if<RedisStreamsHandler>(&consumer.handler);
  const auto* from = std::get_if<RedisStreamsSource>(&consumer.source);
  if (to == nullptr || from == nullptr || to->spec.url != from->spec.url ||
      to->spec.stream != from->spec.stream) {
    return;
  }
  refuse_circle(handler.in("redis_streams"), "stream", report);
}

void check_sqs_circle(const ConsumerConfig& consumer, const View& handler, Report& report) {
  const auto* to = std::get_if<SqsHandler>(&consumer.handler);
  const auto* from = std::get_if<SqsSource>(&consumer.source);
  if (to == nullptr || from == nullptr || !core::same_sqs_queue(to->spec.queue, from->spec.queue)) {
    return;
  }
  refuse_circle(handler.in("sqs"), "queue_url", report);
}

// Refuses a setting that only the other kind of queue has.
void refuse_of_other_queue(const View& sqs, const char* name, const char* whose, Report& report) {
  const auto* setting = sqs.find(name);
  if (setting == nullptr || setting->from == Setting::From::kDefault) return;
  report
      .error("E038", setting->place, setting->path,
             fmt::format("{}: only {} has one", setting->path, whose))
      .help = "leave it out";
}

// `whose`: "a FIFO queue".
void build_fifo(const View& sqs, const char* whose, core::SqsSendSpec& spec, Report& report) {
  sqs.fill(spec.fifo);
  if (!spec.queue.name.empty() && !spec.queue.fifo()) {
    refuse_of_other_queue(sqs, "group", whose, report);
    refuse_of_other_queue(sqs, "deduplication", whose, report);
  }
  const auto* group = sqs.find("group");
  if (group == nullptr) return;
  if (const auto flaw = core::sqs_group_flaw(group->text)) {
    report
        .error("E014", group->place, group->path,
               fmt::format("{}: {} {}", group->path, in_quotes(group->text), *flaw))
        .help = "group: orders";
  }
}

// Only the server knows which subjects a stream takes, except those that `declare` names.
void check_nats_circle(const ConsumerConfig& consumer, const View& handler, Report& report) {
  const auto* to = std::get_if<NatsHandler>(&consumer.handler);
  const auto* from = std::get_if<NatsSource>(&consumer.source);
  if (to == nullptr || from == nullptr || from->spec.subject.empty() ||
      to->spec.address.nodes != from->spec.address.nodes ||
      !core::nats_subject_takes(from->spec.subject, to->spec.subject)) {
    return;
  }
  refuse_circle(handler.in("nats"), "subject", report);
}

}  // namespace

core::KafkaPublishSpec build_kafka_publish(const View& kafka, Report& report) {
  core::KafkaPublishSpec made;
  kafka.fill(made);
  made.properties = build_kafka_properties(kafka, core::kafka_producer_property_flaw, report);
  const auto* topic = kafka.find("topic");
  if (topic != nullptr && !core::is_kafka_topic(topic->text)) refuse_kafka_topic(*topic, report);
  return made;
}

core::RabbitmqPublishSpec build_rabbitmq_publish(const View& rabbitmq, const std::string& folder,
                                                 Report& report) {
  core::RabbitmqPublishSpec made;
  build_rabbitmq_access(rabbitmq, folder, made, report);
  build_route(rabbitmq, made, report);
  rabbitmq.fill(made);
  return made;
}

core::RedisStreamsPublishSpec build_redis_streams_publish(const View& streams, Report& report) {
  core::RedisStreamsPublishSpec made;
  streams.fill(made);
  check_redis_url(streams, report);
  check_redis_name(streams, "stream", "stream: orders-paid", report);
  check_redis_name(streams, "payload", "payload: data", report);
  return made;
}

core::SqsPublishSpec build_sqs_publish(const View& sqs, const std::string& folder, Report& report) {
  core::SqsPublishSpec made;
  build_sqs_access(sqs, folder, made, report);
  sqs.fill(static_cast<core::SqsSendSpec&>(made));
  sqs.fill(made);
  if (made.queue.fifo()) refuse_of_other_queue(sqs, "delay", "a standard queue", report);
  build_fifo(sqs, "a FIFO queue", made, report);
  return made;
}

core::SnsPublishSpec build_sns_publish(const View& sns, const std::string& folder, Report& report) {
  core::SnsPublishSpec made;
  sns.fill(static_cast<core::SqsAccess&>(made));
  sns.fill(static_cast<core::SqsSendSpec&>(made));
  if (!made.ca_file.empty()) made.ca_file = resolve_path(folder, made.ca_file);
  build_sqs_keys(sns, made, report);
  const auto* arn = sns.find("topic_arn");
  if (arn == nullptr) return made;
  const auto* endpoint = sns.find("endpoint");
  auto read = core::read_sns_topic(arn->text, endpoint == nullptr ? "" : endpoint->text);
  if (read) {
    made.queue = *std::move(read);
    made.region = made.queue.region;
  } else {
    const auto& setting = read.error().of_the_endpoint && endpoint != nullptr ? *endpoint : *arn;
    report
        .error("E014", setting.place, setting.path,
               fmt::format("{}: {} {}", setting.path, in_quotes(setting.text), read.error().why))
        .help = read.error().of_the_endpoint
                    ? "endpoint: https://sns.eu-west-1.amazonaws.com"
                    : "topic_arn: arn:aws:sns:eu-west-1:123456789012:orders";
  }
  build_fifo(sns, "a FIFO topic", made, report);
  return made;
}

core::NatsPublishSpec build_nats_publish(const View& nats, const std::string& folder,
                                         Report& report) {
  core::NatsPublishSpec made;
  build_nats_access(nats, folder, made, report);
  nats.fill(made);
  const auto* subject = nats.find("subject");
  if (subject == nullptr) return made;
  if (const auto flaw = core::nats_publish_subject_flaw(subject->text)) {
    report
        .error("E014", subject->place, subject->path,
               fmt::format("{}: {} {}", subject->path, in_quotes(subject->text), *flaw))
        .help = "subject: orders.paid";
  }
  return made;
}

void complete_publish(ConsumerConfig& consumer) {
  if (auto* kafka = std::get_if<KafkaHandler>(&consumer.handler)) {
    kafka->spec.timeout = consumer.timeout;
  }
  if (auto* rabbitmq = std::get_if<RabbitmqHandler>(&consumer.handler)) {
    rabbitmq->spec.timeout = consumer.timeout;
  }
  if (auto* streams = std::get_if<RedisStreamsHandler>(&consumer.handler)) {
    streams->spec.timeout = consumer.timeout;
  }
  if (auto* sqs = std::get_if<SqsHandler>(&consumer.handler)) {
    sqs->spec.timeout = consumer.timeout;
  }
  if (auto* sns = std::get_if<SnsHandler>(&consumer.handler)) {
    sns->spec.timeout = consumer.timeout;
  }
  if (auto* nats = std::get_if<NatsHandler>(&consumer.handler)) {
    nats->spec.timeout = consumer.timeout;
  }
}

void check_publish(const ConsumerConfig& consumer, const View& view, Report& report) {
  const View handler = view.in("handler");
  check_kafka_circle(consumer, handler, report);
  check_rabbitmq_circle(consumer, handler, report);
  check_redis_streams_circle(consumer, handler, report);
  check_nats_circle(consumer, handler, report);
  check_sqs_circle(consumer, handler, report);
  if (!publishes(consumer.handler) || consumer.accept.contains("W031")) return;
  warn_of_kafka_secrets(handler.in("kafka"), report);
  warn_of_rabbitmq_password(handler.in("rabbitmq"), report);
  warn_of_sqs_secrets(handler.in("sqs"), report);
  warn_of_sqs_secrets(handler.in("sns"), report);
  if (const auto* nats = std::get_if<NatsHandler>(&consumer.handler)) {
    warn_of_nats_secrets(handler.in("nats"), nats->spec, report);
  }
}

}  // namespace semel::config
