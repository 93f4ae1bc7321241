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

using MadeSource = Result<std::unique_ptr<Source>>;

bool same_traits(const SourceTraits& one, const SourceTraits& other) {
  return one.name == other.name && one.redelivers == other.redelivers &&
         one.replays == other.replays && one.marks_again == other.marks_again &&
         one.in_store == other.in_store && one.answers == other.answers &&
         one.tells_lag == other.tells_lag && one.horizon == other.horizon;
}

// Makes the source that the config names; null if the consumer reads only what the store holds.
class SourceMaker {
 public:
  SourceMaker(const ConsumerBuild& build, ConsumerNumber number)
      : consumer_(*build.consumer),
        options_(*build.options),
        positions_(build.store->facets().positions),
        number_(number) {}

  MadeSource operator()(const config::FileSource& source) const {
    sources::FileOptions options{source.spec};
    options.follow = follows();
    options.saves = !options_.dry_run;
    return sources::make_file_source(std::move(options), number_, *positions_);
  }

  MadeSource operator()(const config::HttpSource& source) const {
    if (options_.once || options_.dry_run) {
      return failure({ErrorKind::kRejected, "R322",
                      fmt::format("its source is http, which {}",
                                  options_.once ? "has no end: it cannot be run --once"
                                                : "answers its senders: it has no --dry-run"),
                      "run it without, or ask consumers without such a source"});
    }
    return sources::make_http_source(source.spec, environment());
  }

  MadeSource operator()(const config::KafkaSource& source) const {
    return kafka::make_kafka_source(
        source.spec, environment(),
        options_.dry_run ? kafka::Commits::kNever : kafka::Commits::kYes);
  }

  MadeSource operator()(const config::NatsSource& source) const {
    return nats::make_nats_source({source.spec, follows(), consumer_.order.has_value()},
                                  environment());
  }

  MadeSource operator()(const config::NativeSource& source) const {
    const auto found = options_.sources.find(source.name);
    if (found == options_.sources.end()) {
      return failure(
          {ErrorKind::kRejected, "E060",
           fmt::format("it wants the native source \"{}\", which this program does not have",
                       source.name),
           fmt::format("register it: runner.source(\"{}\", …), or name another source",
                       source.name)});
    }
    const FromOwn& own = found->second;
    auto made = own.make({follows()});
    if (!made) return failure(std::move(made.error()));
    if (*made == nullptr || !same_traits((*made)->traits(), own.traits)) {
      return failure({ErrorKind::kRejected, "E068",
                      fmt::format("the factory of the native source \"{}\" {}", source.name,
                                  *made == nullptr ? "returned no source"
                                                   : "made a source with other traits than FromOwn "
                                                     "declares"),
                      "return one constant from Source::traits, and give the same to FromOwn"});
    }
    return made;
  }

  MadeSource operator()(const config::RabbitmqSource& source) const {
    return rabbitmq::make_rabbitmq_source({source.spec, follows()}, environment());
  }

  MadeSource operator()(const config::RedisStreamsSource& source) const {
    return redis_streams::make_redis_streams_source({source.spec, follows()}, environment());
  }

  MadeSource operator()(const config::SqsSource& source) const {
    return sqs::make_sqs_source({source.spec, follows(), consumer_.retry.crashes}, environment());
  }

  MadeSource operator()(const config::StdinSource&) const { return sources::make_stdin_source(); }
  MadeSource operator()(const config::QueueSource&) const { return nullptr; }
  MadeSource operator()(const config::ClaimsSource&) const { return nullptr; }

 private:
  // If false, the file is read once to its end.
  bool follows() const noexcept { return !options_.once && !options_.dry_run; }
  Environment& environment() const noexcept { return *options_.environment; }

  const config::ConsumerConfig& consumer_;
  const ServiceOptions& options_;
  Positions* const positions_;
  const ConsumerNumber number_;
};

}  // namespace

Result<std::vector<std::unique_ptr<Source>>> sources_of(const ConsumerBuild& build,
                                                        ConsumerNumber number, LineOf line_of) {
  const config::ConsumerConfig& consumer = *build.consumer;
  std::vector<std::unique_ptr<Source>> sources;
  if (consumer.is_claimed()) return sources;
  auto made = std::visit(SourceMaker(build, number), consumer.source);
  if (!made) return failure(of_consumer(consumer.name, std::move(made.error())));
  if (*made != nullptr) sources.push_back(*std::move(made));
  if (consumer.defer == config::ConsumerConfig::Defer::kElsewhere) return sources;
  // Messages of the queue, or messages held for a retry: one source reads both.
  sources.push_back(sources::make_held_source(*build.store->facets().held, number,
                                              consumer.dedup.lease, *build.options->environment,
                                              std::move(line_of)));
  return sources;
}

}  // namespace semel::compose
