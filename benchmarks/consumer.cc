#include "benchmarks/consumer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <utility>
#include <variant>

#include <semel/spi/held_messages.h>
#include <semel/spi/run_markers.h>

#include "benchmarks/measure.h"
#include "benchmarks/workload.h"
#include "core/intake.h"
#include "engine/engine.h"
#include "handlers/sql/sql_handler.h"
#include "sources/sources.h"
#include "strategies/strategies.h"
#include "system/mutex.h"

namespace semel::bench {

namespace {

core::KeyRecipe recipe() {
  core::KeyRecipe recipe;
  recipe.parts.push_back(core::KeyPart::parse("json:/id").value());
  return recipe;
}

struct Silent final : Observer {};

std::size_t calls_of(const ConsumerRun& run) {
  return run.calls ? run.calls->load(std::memory_order_relaxed) : 0;
}

engine::EngineOptions options_of(const ConsumerRun& run, ConsumerNumber number,
                                 const core::KeyRecipe& keys) {
  engine::EngineOptions options;
  options.consumer = run.name;
  options.number = number;
  options.recipe = keys;
  options.order = run.order;
  options.pace.batch_max = run.batch;
  options.batch_first = run.batch_first.value_or(run.batch);
  options.once = true;
  options.workers = run.workers;
  options.most_running = run.most_running;
  if (run.most_running > 0) options.pace.max_in_flight = 4 * run.most_running;
  return options;
}

ConsumerNumber attach(Store& store, const ConsumerRun& run) {
  const auto number = store.attach({run.name, recipe().hash(), false, run.ttl});
  if (!number) give_up(number.error().message);
  return *number;
}

LineOf line_of(const ConsumerRun& run, ConsumerNumber number) {
  if (!core::keeps_lines(run.order)) return {};
  auto intake = std::make_shared<core::Intake>(number, recipe(), core::Limits{}, run.order);
  return [intake](const Arrival& arrival) { return intake->line_of(arrival); };
}

// Until the end of the source, or of the queue where there is none; yields the seconds that it
// took, and how it ended.
std::pair<double, engine::Ended> run_engine(Store& store, const ConsumerRun& run,
                                            std::unique_ptr<Source> source) {
  using namespace std::chrono_literals;
  const core::KeyRecipe keys = recipe();
  const ConsumerNumber number = attach(store, run);

  Silent silent;
  Observer& observer = run.observer != nullptr ? *run.observer : silent;
  system::Mutex suspect_gate;
  engine::EngineParts parts;
  parts.store = &store;
  if (source) parts.sources.push_back(std::move(source));
  if (auto* const held = store.facets().held) {
    parts.sources.push_back(
        sources::make_held_source(*held, number, 60s, system_environment(), line_of(run, number)));
  }
  parts.environment = &system_environment();
  parts.observer = &observer;
  parts.suspect_gate = &suspect_gate;
  parts.hung = [](const std::string& why) { give_up(why); };
  parts.strategy = parts.give_up_strategy = [&](const strategies::Services& services) {
    strategies::Context context;
    context.consumer = run.name;
    context.store = &store;
    context.handler = run.handler;
    if (run.retry) context.retry = *run.retry;
    context.claim.want_result = run.want_result;
    context.environment = &system_environment();
    context.observer = &observer;
    context.services = services;
    return strategies::make_strategy(run.strategy, std::move(context));
  };
  auto engine = engine::Engine::create(options_of(run, number, keys), std::move(parts));
  const Stopwatch watch;
  const engine::Ended ended = engine->run();
  return {watch.seconds(), ended};
}

}  // namespace

double consume(Store& store, const ConsumerRun& run, const std::vector<std::string>& payloads,
               Tally* told) {
  Tally tally;
  const std::size_t calls_before = calls_of(run);
  const auto [seconds, ended] =
      run_engine(store, run, make_preset_source(payloads, tally, run.at_a_time, run.seconds));
  if (ended != engine::Ended::kFinished || (run.seconds == 0 && tally.acked != payloads.size())) {
    give_up(fmt::format("{} of {} messages were acked", tally.acked, payloads.size()));
  }
  if (run.seconds > 0 && (tally.acked == 0 || tally.given_back > 0)) {
    give_up(fmt::format("{} messages were acked and {} were not", tally.acked, tally.given_back));
  }
  if (const auto calls = calls_of(run) - calls_before; run.calls && calls < tally.acked) {
    give_up(fmt::format("the handler was called {} times for {} messages", calls, tally.acked));
  }
  const double rate = static_cast<double>(tally.acked) / seconds;
  if (told != nullptr) *told = std::move(tally);
  return rate;
}

void consume_from(Store& store, const ConsumerRun& run, std::unique_ptr<Source> source) {
  const auto [seconds, ended] = run_engine(store, run, std::move(source));
  if (ended != engine::Ended::kFinished) give_up("the consumer did not come to its end");
}

void enqueue(Store& store, const ConsumerRun& run, const std::vector<std::string>& payloads) {
  HeldMessages& held = *store.facets().held;
  const ConsumerNumber number = attach(store, run);
  constexpr std::size_t kPart = 1'000;
  for (std::size_t first = 0; first < payloads.size(); first += kPart) {
    std::vector<OutgoingMessage> part(std::min(kPart, payloads.size() - first));
    for (std::size_t i = 0; i < part.size(); ++i) part[i].payload = payloads[first + i];
    const auto appended = held.append(number, part);
    if (!appended) give_up(appended.error().message);
  }
}

namespace {

void handle_queue(Store& store, const ConsumerRun& run, double& seconds) {
  const auto [took, ended] = run_engine(store, run, nullptr);
  if (ended != engine::Ended::kFinished) give_up("the consumer did not come to its end");
  const auto depth = store.facets().held->depth(attach(store, run));
  if (!depth) give_up(depth.error().message);
  check_count(depth->rows, 0, "messages were left in the queue");
  seconds = took;
}

// Notes when each message ended.
class EndTimes final : public Observer {
 public:
  void on_ended(std::string_view, const Delivery&, const Outcome&,
                std::chrono::nanoseconds) noexcept override {
    const double at = watch_.seconds();
    const system::MutexLock lock(mutex_);
    times_.push_back(at);
  }
  std::vector<double> times() {
    const system::MutexLock lock(mutex_);
    std::vector<double> times = times_;
    std::ranges::sort(times);
    return times;
  }

 private:
  const Stopwatch watch_{};
  system::Mutex mutex_;
  std::vector<double> times_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace

std::vector<double> end_times(Store& store, const ConsumerRun& run) {
  EndTimes observer;
  ConsumerRun observed = run;
  observed.batch_first = 1;
  observed.observer = &observer;
  double seconds = 0;
  handle_queue(store, observed, seconds);
  return observer.times();
}

void take_in_hand(Store& store, const ConsumerRun& run, std::size_t messages) {
  const ConsumerNumber number = attach(store, run);
  RunMarkers* const runs = store.facets().runs;
  if (runs == nullptr) give_up("the store has no run markers");
  const auto begun = runs->begin(number, messages);
  if (!begun) give_up(begun.error().message);
  const auto taken = store.facets().held->take(number, messages, 1U << 30U, std::chrono::hours(1));
  if (!taken) give_up(taken.error().message);
  check_count(taken->size(), messages, "messages were taken");
}

double consume_queue(Store& store, const ConsumerRun& run,
                     const std::vector<std::string>& payloads) {
  enqueue(store, run, payloads);
  double seconds = 0;
  handle_queue(store, run, seconds);
  return static_cast<double>(payloads.size()) / seconds;
}

void redeliver(Store& store, ConsumerRun run, const std::vector<std::string>& payloads) {
  const bool transactional = std::holds_alternative<TransactionalHandler>(run.handler);
  run.set_idle_handler(transactional);
  const auto calls = std::exchange(run.calls, nullptr);
  consume(store, run, payloads);
  if (*calls > 0) give_up(fmt::format("{} messages were handled a second time", calls->load()));
}

namespace {

Handler sql_handler(std::initializer_list<const char*> params,
                    std::initializer_list<const char*> statements) {
  core::SqlSpec spec;
  for (const std::string name : params) {
    spec.params[name].pointer = json::Pointer::parse("/" + name).value();
  }
  for (const char* const sql : statements) spec.statements.push_back({sql, std::nullopt, {}});
  return handlers::make_sql_handler(spec).value();
}

}  // namespace

Handler effect_handler() { return sql_handler({"amount", "account"}, {kEffect}); }

Handler transfer_handler() {
  return sql_handler({"amount", "account", "to"}, {kWithdrawal, kDeposit});
}

void ConsumerRun::set_idle_handler(bool transactional) {
  calls = std::make_shared<std::atomic<std::size_t>>(0);
  const auto called = [count = calls] {
    count->fetch_add(1, std::memory_order_relaxed);
    return done();
  };
  if (transactional) {
    handler = TransactionalHandler([called](const Message&, Transaction&) { return called(); });
  } else {
    handler = PlainHandler([called](const Message&, const Attempt&) { return called(); });
  }
}

}  // namespace semel::bench
