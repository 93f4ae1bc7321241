#include "compose/compose.h"

#include <algorithm>

#include <semel/spi/live_checks.h>

#include "base/overloaded.h"
#include "compose/steps.h"
#include "config/catalog.h"
#include "core/guard_recipe.h"
#include "sources/http/make_http_source.h"
#include "sources/kafka/make_kafka_source.h"
#include "sources/nats/make_nats_source.h"
#include "sources/rabbitmq/make_rabbitmq_source.h"
#include "sources/redis_streams/make_redis_streams_source.h"
#include "sources/sources.h"
#include "sources/sqs/make_sqs_source.h"

namespace semel::compose {

namespace {

constexpr ConsumerNumber kOfNobody{0};
constexpr int kExitBad = 1;
constexpr int kExitConfig = 78;

// A client that is told to come back later sends its message again.
constexpr SourceTraits kClaimsTraits{.name = "claims", .redelivers = true};

// Indexed by kind: a new source without traits does not compile.
SourceTraits traits_of(const config::SourceConfig& source) {
  return std::visit(
      Overloaded{[](const config::QueueSource&) { return sources::kQueueTraits; },
                 [](const config::FileSource&) { return sources::kFileTraits; },
                 [](const config::HttpSource&) { return sources::kHttpTraits; },
                 [](const config::KafkaSource&) { return kafka::kSourceTraits; },
                 [](const config::NatsSource&) { return nats::kSourceTraits; },
                 [](const config::RabbitmqSource&) { return rabbitmq::kSourceTraits; },
                 [](const config::RedisStreamsSource&) { return redis_streams::kSourceTraits; },
                 [](const config::SqsSource&) { return sqs::kSourceTraits; },
                 [](const config::StdinSource&) { return sources::kStdinTraits; },
                 [](const config::NativeSource& native) { return native.traits; },
                 [](const config::ClaimsSource&) { return kClaimsTraits; }},
      source);
}

ConsumerSpec consumer_spec(const config::ConsumerConfig& consumer) {
  ConsumerSpec spec;
  spec.name = consumer.name;
  // A sender that knows only the consumer's recipe learns from it that there is no queue.
  spec.recipe_hash = consumer.is_claimed() ? Bytes(core::kGuardRecipe) : consumer.key.hash();
  spec.accept_recipe = consumer.accept.contains("key_recipe");
  spec.ttl = config::effective_ttl(consumer);
  return spec;
}

}  // namespace

int exit_code_of_run(const Error& error) {
  const int code = config::exit_code_of(error);
  // No later start mends an error without a code of its own: it comes from the config or the
  // source.
  return code == kExitBad ? kExitConfig : code;
}

config::Config loaded_or_throw(config::Loaded loaded) {
  if (loaded.config) return *std::move(loaded.config);
  Error error{ErrorKind::kRejected, "E000", {}, {}};
  for (const config::Diagnostic& diagnostic : loaded.diagnostics) {
    if (diagnostic.severity != config::Diagnostic::Severity::kError) continue;
    if (error.message.empty()) error.code = diagnostic.code;
    error.message += config::format(diagnostic, false);
  }
  throw SemelError(std::move(error));
}

Result<ConsumerNumber> attach(Store& store, const config::ConsumerConfig& consumer) {
  return store.attach(consumer_spec(consumer));
}

Result<std::optional<ConsumerNumber>> known_number(Store& store,
                                                   const config::ConsumerConfig& consumer) {
  const ConsumerSpec spec = consumer_spec(consumer);
  if (LiveChecks* const live = store.facets().live) return live->number_of(spec);
  return store.attach(spec).map([](ConsumerNumber number) { return std::optional(number); });
}

Result<ConsumerNumber> number_for_run(Store& store, const config::ConsumerConfig& consumer,
                                      bool dry_run) {
  if (!dry_run) return attach(store, consumer);
  return known_number(store, consumer).map([](std::optional<ConsumerNumber> known) {
    return known.value_or(kOfNobody);
  });
}

core::Retention retention_of(const config::ConsumerConfig& consumer) {
  return {config::effective_ttl(consumer), consumer.dedup.ttl != config::DedupConfig::Ttl::kAuto,
          consumer.accept.contains("D102")};
}

std::optional<core::AgeLimit> age_limit_of(const config::ConsumerConfig& consumer) {
  if (!core::has_record(consumer.strategy)) return std::nullopt;
  return core::age_limit_of(config::effective_ttl(consumer), consumer.dedup.too_old);
}

Guarantee guarantee_of(const config::Config& config, const config::ConsumerConfig& consumer,
                       bool server_was_asked) {
  core::GuaranteeFacts facts;
  facts.server_was_asked = server_was_asked;
  facts.source = traits_of(consumer.source);
  facts.store = config::traits_of(config.store);
  facts.strategy = consumer.strategy;
  facts.handler_transactional = std::holds_alternative<config::SqlHandler>(consumer.handler);
  std::visit(
      [&facts](const auto& handler) {
        if constexpr (requires { handler.spec.honours_key; }) {
          facts.honours_key = handler.spec.honours_key;
        }
      },
      consumer.handler);
  if (const auto* http = std::get_if<config::HttpHandler>(&consumer.handler)) {
    facts.remote_keeps = http->spec.remote_keeps;
  }
  if (const auto* steps = std::get_if<config::StepsHandler>(&consumer.handler)) {
    facts.steps = step_facts(*steps);
    facts.honours_key = facts.steps->keyless.empty();
  }
  const auto is_position = [](const core::KeyPart& part) {
    return std::holds_alternative<core::KeyPart::PositionPart>(part.what);
  };
  facts.key_is_position = std::ranges::any_of(consumer.key.parts, is_position);
  // With other parts in the key, a message at the same position may get another key.
  const bool nothing_else = std::ranges::all_of(consumer.key.parts, is_position);
  facts.positions_return =
      nothing_else && (std::holds_alternative<config::FileSource>(consumer.source) ||
                       std::holds_alternative<config::KafkaSource>(consumer.source) ||
                       std::holds_alternative<config::NatsSource>(consumer.source) ||
                       std::holds_alternative<config::RedisStreamsSource>(consumer.source));
  facts.key_may_be_body = consumer.key.missing == core::KeyRecipe::Missing::kHashBody;
  facts.fingerprint_none = consumer.key.fingerprint == core::KeyRecipe::FingerprintOf::kNone;
  facts.two_parts = consumer.apply.has_value();
  facts.ttl = config::effective_ttl(consumer);
  return core::compute_guarantee(facts);
}

}  // namespace semel::compose
