#include "config/kafka_build.h"

#include <fmt/format.h>

#include "config/node.h"
#include "config/secrets.h"

namespace semel::config {
namespace {

void build_topics(const View& kafka, core::KafkaSpec& spec, Report& report) {
  const auto list = kafka.path("topics");
  for (std::size_t i = 0; i < kafka.settings().size(list); ++i) {
    const auto* topic = kafka.settings().find(join_path(list, i));
    if (topic == nullptr) continue;
    if (!core::is_kafka_topic(topic->text)) {
      refuse_kafka_topic(*topic, report);
      continue;
    }
    spec.topics.push_back(topic->text);
  }
}

}  // namespace

void refuse_kafka_topic(const Setting& topic, Report& report) {
  auto& made =
      report.error("E014", topic.place, topic.path,
                   fmt::format("{}: {} is not a topic's name", topic.path, in_quotes(topic.text)));
  made.help = "letters, digits, \".\", \"_\" and \"-\"; each topic by its own name, no pattern";
}

std::map<std::string, std::string> build_kafka_properties(
    const View& kafka,
    std::optional<core::KafkaPropertyFlaw> (*flaw)(std::string_view name, std::string_view value),
    Report& report) {
  std::map<std::string, std::string> properties;
  const auto map = kafka.path("properties");
  for (const auto& name : kafka.settings().names(map)) {
    const auto path = join_path(map, name.text);
    const auto* value = kafka.settings().find(path);
    if (value == nullptr) continue;
    if (const auto found = flaw(name.text, value->text)) {
      auto& made = report.error("E027", name.place, path,
                                fmt::format("{}: {} {}", map, in_quotes(name.text), found->why));
      made.help = found->help;
      continue;
    }
    properties.emplace(name.text, value->text);
  }
  return properties;
}

void warn_of_kafka_secrets(const View& kafka, Report& report) {
  if (!others_may_read(report.name(0))) return;
  const auto map = kafka.path("properties");
  for (const auto& name : kafka.settings().names(map)) {
    const auto* value = kafka.settings().find(join_path(map, name.text));
    if (value == nullptr || !core::is_kafka_secret(name.text) || !is_literal(*value)) continue;
    warn_of_secret(*value, "a literal secret, in a file that others may read",
                   "${file:/run/secrets/…}, or chmod 600 " + report.name(0), report);
  }
}

core::KafkaSpec build_kafka(const View& kafka, Report& report) {
  core::KafkaSpec made;
  kafka.fill(made);
  build_topics(kafka, made, report);
  made.properties = build_kafka_properties(kafka, core::kafka_property_flaw, report);
  return made;
}

void refuse_no_key_on_kafka(const SourceLocation& place, const std::string& path, Report& report) {
  auto& made = report.error("E031", place, path,
                            fmt::format("no key: {} is missing, and a record's own key often "
                                        "names what it is about, not the record",
                                        path));
  made.detail.push_back("two orders of one customer would then be one message sent twice");
  made.help =
      "key: json:/your_id; header:NAME; cloudevents; or broker_key, where no two records share one";
}

void check_kafka(const ConsumerConfig& consumer, const View& view, Report& report) {
  if (!std::holds_alternative<KafkaSource>(consumer.source) || consumer.accept.contains("W031")) {
    return;
  }
  warn_of_kafka_secrets(view.in("source").in("kafka"), report);
}

}  // namespace semel::config
