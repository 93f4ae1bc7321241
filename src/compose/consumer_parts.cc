#include "compose/consumer_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include <semel/reason.h>
#include <semel/spi/held_messages.h>

#include "compose/consumer_handler.h"
#include "compose/consumer_sources.h"
#include "compose/front.h"
#include "compose/outbox.h"
#include "compose/steps.h"
#include "core/intake.h"
#include "core/pace.h"
#include "handlers/exec/exec_handler.h"
#include "sources/sources.h"
#include "strategies/age_gate.h"
#include "strategies/strategies.h"
#include "traces/traced_handler.h"

namespace semel::compose {

namespace {

// Room for a message's key, its usual headers and the statement that stores it, in bytes.
constexpr std::size_t kBesidePayload = 8 << 10;
constexpr std::size_t kFirstBatchInTransaction = 32;
// A handler that times its own calls gets this much extra time before it is told to stop.
constexpr std::chrono::milliseconds kOwnTimeoutFirst{1'000};
// librdkafka checks for timeouts only periodically, so it needs more time to report them.
constexpr std::chrono::milliseconds kReportFirst{3'000};
// Calls that wait for another program or machine.
constexpr int kCallsAtATime = 64;
constexpr int kCommandsAtATime = 16;

Error rejected(std::string code, std::string message, std::string hint) {
  return {ErrorKind::kRejected, std::move(code), std::move(message), std::move(hint)};
}

core::KeyRecipe recipe_of(const ConsumerBuild& build) {
  core::KeyRecipe recipe = build.consumer->key;
  const auto function = build.options->keys.find(build.consumer->name);
  if (function != build.options->keys.end()) recipe.function = function->second;
  return recipe;
}

// The consumer's limits, lowered to what the store can keep. A larger payload is refused on
// arrival.
core::Limits limits_of(const ConsumerBuild& build) {
  core::Limits limits = build.consumer->limits;
  const std::size_t most = build.store->traits().largest_message;
  limits.payload = std::min(limits.payload, most - std::min(most, kBesidePayload));
  return limits;
}

// Reports a payload limit that the store lowers.
void tell_of_limits(const ConsumerBuild& build) {
  const std::size_t asked = build.consumer->limits.payload;
  const std::size_t held = limits_of(build).payload;
  if (asked == held || asked == core::Limits().payload || build.observer == nullptr) return;
  build.observer->on_notice(
      build.consumer->name,
      fmt::format("limits.payload is {} bytes, and the {} store takes {}: a larger message becomes "
                  "a dead letter without its payload",
                  asked, build.store->traits().name, held));
}

// Rows of the queue get their ordering group when they are taken: senders need not know the order.
LineOf line_of(const ConsumerBuild& build, ConsumerNumber number) {
  const config::ConsumerConfig& consumer = *build.consumer;
  if (build.options->dry_run || !core::keeps_lines(consumer.order)) return {};
  auto intake =
      std::make_shared<core::Intake>(number, recipe_of(build), limits_of(build), consumer.order);
  return [intake](const Arrival& arrival) { return intake->line_of(arrival); };
}

// The steps that a native handler declares.
std::optional<StepSpecs> declared_steps(const ConsumerBuild& build) {
  const auto* native = std::get_if<config::NativeHandler>(&build.consumer->handler);
  if (native == nullptr) return std::nullopt;
  const auto found = build.options->steps.find(native->name);
  if (found == build.options->steps.end()) return std::nullopt;
  return found->second;
}

// Steps need a lease for their journal, and a handler whose work is over when it returns.
std::optional<std::string> refuse_steps(core::StrategyKind strategy, const Handler& handler) {
  if (!std::holds_alternative<PlainHandler>(handler)) {
    return "a handler with steps takes (const Message&, const Attempt&) and returns a Verdict";
  }
  return core::refuse_steps(strategy);
}

// Finds a facet that the store lacks before anything is begun.
Result<void> refuse_without_facets(const ConsumerBuild& build) {
  const config::ConsumerConfig& consumer = *build.consumer;
  const StoreFacets facets = build.store->facets();
  if (std::holds_alternative<config::FileSource>(consumer.source) && facets.positions == nullptr) {
    return failure(rejected("E061",
                            fmt::format("consumer \"{}\": the {} store keeps no positions in files",
                                        consumer.name, build.store->traits().name),
                            "use another store: sqlite, postgres, mysql or redis"));
  }
  if (consumer.front && facets.positions == nullptr) {
    return failure(rejected("E061",
                            fmt::format("consumer \"{}\": the {} store keeps no secret for a front "
                                        "window",
                                        consumer.name, build.store->traits().name),
                            "leave front out, or use sqlite, postgres, mysql or redis"));
  }
  const bool steps =
      std::holds_alternative<config::StepsHandler>(consumer.handler) || declared_steps(build);
  if (steps && facets.steps == nullptr) {
    return failure(
        rejected("E063",
                 fmt::format("consumer \"{}\" has steps, and the {} store keeps no journal of them",
                             consumer.name, build.store->traits().name),
                 "use a store that does: " + std::string(core::kStoresWithSteps)));
  }
  if (facets.held != nullptr && facets.dead_letters != nullptr) return {};
  return failure(of_consumer(consumer.name, no_messages(*build.store)));
}

Handler giving_up(bool transactional, int crashes) {
  std::string why =
      fmt::format("it alone was in hand at {} deaths of the process (retry.crashes)", crashes);
  if (transactional) {
    return TransactionalHandler([why](const Message&, Transaction&) { return dead(why); });
  }
  return PlainHandler([why](const Message&, const Attempt&) { return dead(why); });
}

strategies::Context context_of(const ConsumerBuild& build, Handler handler) {
  const config::ConsumerConfig& consumer = *build.consumer;
  strategies::Context context;
  context.consumer = consumer.name;
  context.store = build.store;
  context.handler = std::move(handler);
  context.retry = consumer.retry;
  context.limits = limits_of(build);
  context.claim.lease = consumer.dedup.lease;
  // Duplicates from these sources are answered with the stored result.
  const auto* const native = std::get_if<config::NativeSource>(&consumer.source);
  context.claim.want_result = std::holds_alternative<config::HttpSource>(consumer.source) ||
                              (native != nullptr && native->traits.answers);
  context.environment = build.options->environment;
  context.observer = build.observer;
  return context;
}

Handler measured(const ConsumerBuild& build, Handler handler) {
  const std::string& consumer = build.consumer->name;
  if (traces::Tracer* const tracer = build.options->tracer) {
    const std::string kind(config::name_of(build.consumer->handler));
    handler = traces::traced(std::move(handler), consumer, kind, *tracer);
  }
  telemetry::DeliveryMetrics* const metrics = build.options->delivery_metrics;
  if (metrics == nullptr) return handler;
  const std::string_view kind = config::name_of(build.consumer->handler);
  return telemetry::timed(std::move(handler), metrics->handler(consumer, kind));
}

// A FIFO queue gives the next message of a group to any reader once the previous one is deleted. It
// is deleted while that message still waits in the store.
bool shares_lines(const config::SourceConfig& source) {
  const auto* const sqs = std::get_if<config::SqsSource>(&source);
  return sqs != nullptr && sqs->spec.queue.fifo();
}

bool takes_over_lines(const config::SourceConfig& source) {
  return std::holds_alternative<config::KafkaSource>(source) ||
         std::holds_alternative<config::NativeSource>(source);
}

engine::EngineOptions engine_options(const ConsumerBuild& build, ConsumerNumber number,
                                     const Handler& handler) {
  const config::ConsumerConfig& consumer = *build.consumer;
  engine::EngineOptions options;
  options.consumer = consumer.name;
  options.number = number;
  options.recipe = recipe_of(build);
  options.limits = limits_of(build);
  options.empty = consumer.empty;
  options.order = consumer.order;
  options.shares_lines = shares_lines(consumer.source);
  options.takes_over_lines = takes_over_lines(consumer.source);
  options.retention = retention_of(consumer);
  if (traces::Tracer* const tracer = build.options->tracer) {
    options.start_trace = tracer->start_of(consumer.name);
  }
  // With strategy fence a message and its payload are stored before its service is called.
  options.defers = consumer.defer != config::ConsumerConfig::Defer::kNever ||
                   consumer.strategy == core::StrategyKind::kFence;
  const bool transactional = std::holds_alternative<TransactionalHandler>(handler);
  const bool one_writer = transactional && build.store->traits().single_writer;
  const int threads = consumer.concurrency.value_or(one_writer ? 1 : core::kUsualWorkers);
  options.workers = threads > 1 ? threads : 0;
  options.pace = consumer.pace;
  options.batch_first =
      transactional ? std::min(kFirstBatchInTransaction, consumer.pace.batch_max) : 1;
  options.lease = consumer.dedup.lease;
  options.handler_timeout = consumer.timeout;
  // The exec handler ends its commands itself. A stop before that would not be the message's fault.
  if (const auto* exec = std::get_if<config::ExecHandler>(&consumer.handler)) {
    options.handler_timeout = handlers::longest_exec_call(exec->spec);
    options.grace = std::max(options.grace, handlers::longest_exec_end(exec->spec));
  }
  if (const auto* http = std::get_if<config::HttpHandler>(&consumer.handler)) {
    options.handler_timeout = http->spec.timeout + kOwnTimeoutFirst;
  }
  if (const auto* steps = std::get_if<config::StepsHandler>(&consumer.handler)) {
    options.handler_timeout = longest_run(*steps) + kOwnTimeoutFirst;
  }
  if (config::publishes(consumer.handler)) {
    options.handler_timeout = consumer.timeout + kReportFirst;
  }
  if (std::holds_alternative<AsyncHandler>(handler)) {
    // One thread starts all calls; another option limits how many run at a time.
    options.workers = 0;
    const bool commands = std::holds_alternative<config::ExecHandler>(consumer.handler);
    const int at_a_time =
        consumer.concurrency.value_or(commands ? kCommandsAtATime : kCallsAtATime);
    options.most_running = static_cast<std::size_t>(at_a_time);
  }
  options.drain_timeout = build.config->drain_timeout;
  options.crashes = consumer.retry.crashes;
  options.once = build.options->once;
  options.dry_run = build.options->dry_run;
  options.fail_on_unavailable =
      build.config->store.on_unavailable == config::StoreConfig::OnUnavailable::kFail;
  return options;
}

// A store that keeps messages has records to look at.
std::shared_ptr<strategies::AgeGate> age_gate_of(const ConsumerBuild& build,
                                                 core::StrategyKind strategy) {
  RecordInspector* const records = build.store->facets().records;
  const auto limit = age_limit_of(*build.consumer);
  if (!limit || !core::has_record(strategy) || records == nullptr) return nullptr;
  return std::make_shared<strategies::AgeGate>(
      *limit, [records] { return records->read_clock(); }, *build.options->environment->clock);
}

// A consumer's handler and strategy, after a check that its parts fit together.
struct Work {
  Handler handler;
  std::optional<StepSpecs> steps;
  ApplyHandler apply;
  core::StrategyKind strategy{};
  handlers::RowGuard guard;
  std::function<Result<bool>(const Message&)> look;
};

// Begins nothing, and changes nothing in the store.
Result<Work> work_of(const ConsumerBuild& build) {
  const config::ConsumerConfig& consumer = *build.consumer;
  auto steps = declared_steps(build);
  auto handler = handler_of(build, steps);
  if (!handler) return failure(std::move(handler.error()));
  const bool transactional = std::holds_alternative<TransactionalHandler>(*handler);
  const bool native = std::holds_alternative<config::NativeHandler>(consumer.handler);
  const core::StrategyKind strategy = consumer.strategy_named || !native
                                          ? consumer.strategy
                                          : core::default_strategy(transactional);
  const bool store_transactional = build.store->facets().transactional != nullptr;
  auto apply = apply_of(build);
  if (!apply) return failure(std::move(apply.error()));
  auto refused =
      core::refuse_combination(strategy, transactional, store_transactional, consumer.unsafe);
  if (!refused && *apply) {
    refused = core::refuse_two_parts(strategy, transactional, store_transactional);
  }
  if (!refused && steps) refused = refuse_steps(strategy, *handler);
  if (refused) {
    return failure(rejected(steps && !core::may_have_steps(strategy) ? "E063" : "E061",
                            fmt::format("consumer \"{}\": {}", consumer.name, *refused),
                            "name another strategy, or another kind of handler"));
  }
  if (auto whole = refuse_without_facets(build); !whole) return failure(std::move(whole.error()));
  auto guard = guard_of(build, strategy);
  if (!guard) return failure(std::move(guard.error()));
  Error look_error;
  auto look = look_of(build, look_error);
  if (!look_error.message.empty()) return failure(std::move(look_error));
  return Work{*std::move(handler), std::move(steps), *std::move(apply), strategy,
              *std::move(guard),   std::move(look)};
}

// The traits of a native source are known before the source is made.
Result<void> refuse_too_short_for_own(const config::ConsumerConfig& consumer) {
  const auto* native = std::get_if<config::NativeSource>(&consumer.source);
  if (native == nullptr || !native->traits.horizon) return {};
  return refuse_too_short(
      consumer.name, retention_of(consumer),
      {native->traits.horizon,
       fmt::format("its source \"{}\" can bring a message again", native->name), true});
}

}  // namespace

Error of_consumer(std::string_view consumer, Error error) {
  error.message = fmt::format("consumer \"{}\": {}", consumer, error.message);
  return error;
}

Result<void> refuse_too_short(std::string_view consumer, const core::Retention& retention,
                              const Horizon& horizon) {
  if (retention.accepted) return {};
  auto error = core::too_short(retention, horizon);
  if (!error || error->kind != ErrorKind::kRejected) return {};
  return failure(of_consumer(consumer, *std::move(error)));
}

Result<void> check_consumer_parts(const ConsumerBuild& build) {
  const auto work = work_of(build);
  if (!work) return failure(work.error());
  if (const auto* kafka = std::get_if<config::KafkaSource>(&build.consumer->source)) {
    if (auto known = kafka::check_properties(kafka->spec); !known) return known;
  }
  if (auto kept = refuse_too_short_for_own(*build.consumer); !kept) return kept;
  const auto number = known_number(*build.store, *build.consumer);
  if (!number) return failure(number.error());
  return {};
}

Result<ConsumerParts> make_consumer_parts(const ConsumerBuild& build) {
  const config::ConsumerConfig& consumer = *build.consumer;
  auto work = work_of(build);
  if (!work) return failure(std::move(work.error()));
  const bool transactional = std::holds_alternative<TransactionalHandler>(work->handler);
  const core::StrategyKind strategy = work->strategy;
  if (auto kept = refuse_too_short_for_own(consumer); !kept)
    return failure(std::move(kept.error()));
  auto number = number_for_run(*build.store, consumer, build.options->dry_run);
  if (!number) return failure(std::move(number.error()));
  auto sources = sources_of(build, *number, line_of(build, *number));
  if (!sources) return failure(std::move(sources.error()));

  strategies::Context working = context_of(build, measured(build, work->handler));
  working.already_done = std::move(work->look);
  working.apply = std::move(work->apply);
  working.row_guard = std::move(work->guard);
  // The give-up context has no gate: a message that ended the process is given up at any age.
  working.age_gate = age_gate_of(build, strategy);
  strategies::Context give_up_context =
      context_of(build, giving_up(transactional, consumer.retry.crashes));
  auto outbox = outbox_of(*build.store, *build.config, consumer, build.options->dry_run);
  if (!outbox) return failure(std::move(outbox.error()));
  working.destinations = std::move(outbox->destinations);
  working.forward_to = std::move(outbox->forward_to);
  working.copies_to = give_up_context.copies_to = outbox->copies_to;
  working.steps = give_up_context.steps = work->steps;
  give_up_context.gives_up = true;
  give_up_context.already_done = working.already_done;
  give_up_context.dead_reason = reason::kCrash;

  tell_of_limits(build);
  ConsumerParts made;
  if (auto put = add_front(build, *number, made.parts); !put) return failure(put.error());
  made.options = engine_options(build, *number, work->handler);
  made.options.age_gate = working.age_gate;
  made.options.inbox = strategy == core::StrategyKind::kInbox;
  made.options.copies_to = outbox->copies_to;
  made.parts.store = build.store;
  made.parts.sources = *std::move(sources);
  made.parts.environment = build.options->environment;
  made.parts.observer = build.observer;
  made.parts.strategy = [strategy, working](const strategies::Services& services) mutable {
    working.services = services;
    return strategies::make_strategy(strategy, std::move(working));
  };
  made.parts.give_up_strategy = [strategy,
                                 give_up_context](const strategies::Services& services) mutable {
    give_up_context.services = services;
    return strategies::make_strategy(strategy, std::move(give_up_context));
  };
  return made;
}

}  // namespace semel::compose
