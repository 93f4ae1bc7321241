#include "compose/consumer_sources.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include <semel/spi/held_messages.h>

#include "sources/http/make_http_source.h"
#include "sources/kafka/make_kafka_source.h"
#include "sources/nats/make_nats_source.h"
#include "sources/rabbitmq/make_rabbitmq_source.h"
#include "sources/redis_streams/make_redis_streams_source.h"
#include "sources/sources.h"
#include "sources/sqs/make_sqs_source.h"

namespace semel::compose {

namespace {

Result<std::unique_ptr<Source>> http_source_of(const ConsumerBuild& build,
                                               const core::HttpSourceSpec& spec) {
  if (build.options->once || build.options->dry_run) {
    return failure(
        {ErrorKind::kRejected, "R322",
         fmt::format("consumer \"{}\": its source is http, which {}", build.consumer->name,
                     build.options->once ? "has no end: it cannot be run --once"
                                         : "answers its senders: it has no --dry-run"),
         "run it without, or ask consumers without such a source"});
  }
  return sources::make_http_source(spec, *build.options->environment);
}

}  // namespace

Result<std::vector<std::unique_ptr<Source>>> sources_of(const ConsumerBuild& build,
                                                        ConsumerNumber number, LineOf line_of) {
  const config::ConsumerConfig& consumer = *build.consumer;
  const StoreFacets facets = build.store->facets();
  std::vector<std::unique_ptr<Source>> sources;
  if (consumer.is_claimed()) return sources;
  if (const auto* file = std::get_if<config::FileSource>(&consumer.source)) {
    sources::FileOptions options{file->spec};
    options.follow = !build.options->once && !build.options->dry_run;
    options.saves = !build.options->dry_run;
    auto made = sources::make_file_source(std::move(options), number, *facets.positions);
    if (!made) return failure(std::move(made.error()));
    sources.push_back(*std::move(made));
  } else if (const auto* http = std::get_if<config::HttpSource>(&consumer.source)) {
    auto made = http_source_of(build, http->spec);
    if (!made) return failure(std::move(made.error()));
    sources.push_back(*std::move(made));
  } else if (const auto* kafka = std::get_if<config::KafkaSource>(&consumer.source)) {
    auto made = kafka::make_kafka_source(
        kafka->spec, *build.options->environment,
        build.options->dry_run ? kafka::Commits::kNever : kafka::Commits::kYes);
    if (!made) return failure(std::move(made.error()));
    sources.push_back(*std::move(made));
  } else if (const auto* rabbitmq = std::get_if<config::RabbitmqSource>(&consumer.source)) {
    const bool follow = !build.options->once && !build.options->dry_run;
    sources.push_back(
        rabbitmq::make_rabbitmq_source({rabbitmq->spec, follow}, *build.options->environment));
  } else if (const auto* nats = std::get_if<config::NatsSource>(&consumer.source)) {
    const bool follow = !build.options->once && !build.options->dry_run;
    sources.push_back(nats::make_nats_source({nats->spec, follow, consumer.order.has_value()},
                                             *build.options->environment));
  } else if (const auto* streams = std::get_if<config::RedisStreamsSource>(&consumer.source)) {
    const bool follow = !build.options->once && !build.options->dry_run;
    auto made = redis_streams::make_redis_streams_source({streams->spec, follow},
                                                         *build.options->environment);
    if (!made) return failure(std::move(made.error()));
    sources.push_back(*std::move(made));
  } else if (const auto* sqs = std::get_if<config::SqsSource>(&consumer.source)) {
    const bool follow = !build.options->once && !build.options->dry_run;
    sources.push_back(sqs::make_sqs_source({sqs->spec, follow, consumer.retry.crashes},
                                           *build.options->environment));
  } else if (std::holds_alternative<config::StdinSource>(consumer.source)) {
    sources.push_back(sources::make_stdin_source());
  }
  if (consumer.defer == config::ConsumerConfig::Defer::kElsewhere) return sources;
  // The queue itself, or what was held for later: one mechanism.
  sources.push_back(sources::make_held_source(*facets.held, number, consumer.dedup.lease,
                                              *build.options->environment, std::move(line_of)));
  return sources;
}

}  // namespace semel::compose
