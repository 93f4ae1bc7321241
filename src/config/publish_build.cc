#include "config/publish_build.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/passwords.h"
#include "config/kafka_build.h"
#include "config/node.h"
#include "config/rabbitmq_build.h"
#include "config/secrets.h"

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
                        ? std::optional<std::string>("is no exchange's name")
                        : core::rabbitmq_exchange_flaw(spec.route.exchange));
  check("routing_key", core::rabbitmq_routing_key_flaw(spec.route.routing_key));
}

// Each message would come again as another one, or find its own record.
void refuse_circle(const ConsumerConfig& consumer, const View& view, Report& report) {
  const auto refuse = [&](const std::string& path, const Place& place, const std::string& what) {
    auto& made = report.error("E053", place, path,
                              fmt::format("{}: {} is what this consumer reads", path, what));
    made.detail.push_back("each message would come back to it, for ever");
    made.help = "publish it elsewhere";
  };
  const auto* to_kafka = std::get_if<KafkaHandler>(&consumer.handler);
  const auto* from_kafka = std::get_if<KafkaSource>(&consumer.source);
  if (to_kafka != nullptr && from_kafka != nullptr &&
      to_kafka->spec.brokers == from_kafka->spec.brokers &&
      std::ranges::count(from_kafka->spec.topics, to_kafka->spec.topic) > 0) {
    const auto kafka = view.in("handler").in("kafka");
    refuse(kafka.path("topic"), kafka.place("topic"), in_quotes(to_kafka->spec.topic));
  }
  const auto* to_rabbit = std::get_if<RabbitmqHandler>(&consumer.handler);
  const auto* from_rabbit = std::get_if<RabbitmqSource>(&consumer.source);
  if (to_rabbit != nullptr && from_rabbit != nullptr && to_rabbit->spec.route.exchange.empty() &&
      to_rabbit->spec.route.routing_key == from_rabbit->spec.queue &&
      to_rabbit->spec.address.nodes == from_rabbit->spec.address.nodes &&
      to_rabbit->spec.address.vhost == from_rabbit->spec.address.vhost) {
    const auto rabbitmq = view.in("handler").in("rabbitmq");
    if (rabbitmq.find("queue") != nullptr) {
      refuse(rabbitmq.path("queue"), rabbitmq.place("queue"), in_quotes(from_rabbit->spec.queue));
    }
  }
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

void complete_publish(ConsumerConfig& consumer) {
  if (auto* kafka = std::get_if<KafkaHandler>(&consumer.handler)) {
    kafka->spec.timeout = consumer.timeout;
  }
  if (auto* rabbitmq = std::get_if<RabbitmqHandler>(&consumer.handler)) {
    rabbitmq->spec.timeout = consumer.timeout;
  }
}

void check_publish(const ConsumerConfig& consumer, const View& view, Report& report) {
  refuse_circle(consumer, view, report);
  if (!publishes(consumer.handler) || consumer.accept.contains("W031")) return;
  warn_of_kafka_secrets(view.in("handler").in("kafka"), report);
  warn_of_rabbitmq_password(view.in("handler").in("rabbitmq"), report);
}

}  // namespace semel::config
