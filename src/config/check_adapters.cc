// Refuses a config that names an adapter which this build lacks.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "config/checks.h"
#include "config/node.h"
#include "core/not_built.h"

namespace semel::config {
namespace {

struct NamedBy {
  std::string_view adapter;
  std::string_view what;
  std::string_view path;
};

constexpr NamedBy kByTheFile[] = {{"POSTGRES", "PostgreSQL", "store.postgres"},
                                  {"MYSQL", "MariaDB and MySQL", "store.mysql"},
                                  {"REDIS", "Redis", "store.redis"},
                                  {"ADMIN", "the HTTP listener", "admin"},
                                  {"HTTP", "traces", "traces"}};
constexpr NamedBy kByAConsumer[] = {{"HTTP_SOURCE", "the HTTP source", "source.http"},
                                    {"KAFKA", "Kafka", "source.kafka"},
                                    {"NATS", "NATS", "source.nats"},
                                    {"RABBITMQ", "RabbitMQ", "source.rabbitmq"},
                                    {"HTTP", "the HTTP handler", "handler.http"},
                                    {"KAFKA", "Kafka", "handler.kafka"},
                                    {"RABBITMQ", "RabbitMQ", "handler.rabbitmq"},
                                    {"NATS", "NATS", "handler.nats"},
                                    {"REDIS", "Redis", "handler.redis_streams"},
                                    {"REDIS", "Redis", "front.redis"},
                                    {"REDIS", "Redis", "source.redis_streams"},
                                    {"SQS", "SNS", "handler.sns"},
                                    {"SQS", "SQS", "handler.sqs"},
                                    {"SQS", "SQS", "source.sqs"}};
constexpr NamedBy kByAStep[] = {{"HTTP", "the HTTP handler", "http"},
                                {"HTTP", "the HTTP handler", "undo.http"}};

void refuse_missing(const View& view, const NamedBy& named, Report& report) {
  if (!view.written(named.path)) return;
  Error error = core::not_built(named.what, named.adapter);
  const std::string path = view.path(named.path);
  report.error(error.code, view.place(named.path), path, fmt::format("{}: {}", path, error.message))
      .help = std::move(error.hint);
}

}  // namespace

void check_adapters(const Settings& settings, const std::vector<std::string_view>& missing,
                    Report& report) {
  if (missing.empty()) return;
  const auto refuse_in = [&](const View& view, const auto& rows) {
    for (const NamedBy& named : rows) {
      if (std::ranges::find(missing, named.adapter) != missing.end()) {
        refuse_missing(view, named, report);
      }
    }
  };
  refuse_in(View(settings, ""), kByTheFile);
  for (std::size_t i = 0; i < settings.size("consumers"); ++i) {
    const View consumer(settings, join_path("consumers", i));
    refuse_in(consumer, kByAConsumer);
    const std::string steps = consumer.path("handler.steps");
    for (std::size_t k = 0; k < settings.size(steps); ++k) {
      refuse_in(View(settings, join_path(steps, k)), kByAStep);
    }
  }
}

}  // namespace semel::config
