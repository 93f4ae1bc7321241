#include "benchmarks/store_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "benchmarks/measure.h"
#include "core/pace.h"

namespace semel::bench {
namespace {

using core::StrategyKind;

bool has_effect(const Setting& setting) {
  return setting.work == Work::kEffects || setting.work == Work::kInbox;
}

}  // namespace

void StoreBench::check_sum(const Place& place, const std::vector<std::string>& payloads,
                           long long before) {
  check_sum(place, before + sum_of_amounts(payloads));
}

void StoreBench::check_sum(const Place& place, long long expected) {
  const long long sum = place.sum();
  if (sum != expected) give_up(fmt::format("the accounts hold {} instead of {}", sum, expected));
}

ConsumerRun StoreBench::run_of(const Setting& setting) {
  ConsumerRun run;
  run.strategy = setting.strategy;
  if (has_effect(setting)) {
    run.handler = effect_handler();
  } else {
    run.set_idle_handler(setting.work == Work::kClaims);
    if (setting.work == Work::kTwoPhase) run.workers = core::kUsualWorkers;
  }
  run.batch = kBatch;
  return run;
}

double StoreBench::by_hand(const Setting& setting, std::size_t count, std::size_t batch) {
  const auto place = make_place_();
  const auto payloads = messages(count, setting.keys);
  const double rate = place->by_hand(setting.work)->consume(payloads, batch);
  if (has_effect(setting)) check_sum(*place, payloads);
  check_count(place->processed(), count, "messages were recorded");
  return rate;
}

double StoreBench::deliver(Store& store, const Setting& setting,
                           const std::vector<std::string>& payloads) {
  const ConsumerRun run = run_of(setting);
  const double rate = consume(store, run, payloads);
  if (sizes_.redeliver) redeliver(store, run, payloads);
  return rate;
}

double StoreBench::with_semel(const Setting& setting, std::size_t count) {
  const auto place = make_place_();
  const auto payloads = messages(count, setting.keys);
  auto store = place->open();
  const double rate = deliver(*store, setting, payloads);
  store.reset();
  if (has_effect(setting)) check_sum(*place, payloads);
  return rate;
}

void StoreBench::fresh(const std::string& name, const Setting& setting, const std::string& what) {
  Case one;
  one.name = name;
  one.batch = kBatch;
  one.what = what;
  one.raw = [&] { return by_hand(setting, sizes_.many, kBatch); };
  one.naive = [&] { return by_hand(setting, sizes_.few, 1); };
  one.semel = [&] { return with_semel(setting, sizes_.many); };
  report_.run(one, sizes_.rounds);
}

void StoreBench::fresh() {
  for (const auto& [keys, name] :
       {std::pair(Keys::kOrdered, "ordered"), {Keys::kRandom, "random"}}) {
    fresh(fmt::format("effects-{}", name), {Work::kEffects, StrategyKind::kDedupTable, keys},
          "claim + UPDATE");
    fresh(fmt::format("claims-{}", name), {Work::kClaims, StrategyKind::kDedupTable, keys},
          "claim alone");
    fresh(fmt::format("two-phase-{}", name), {Work::kTwoPhase, StrategyKind::kStateMachine, keys},
          fmt::format("claim, then completion, a commit each; semel: {} workers, as usual",
                      core::kUsualWorkers));
  }
  fresh("inbox-ordered", {Work::kInbox, StrategyKind::kInbox, Keys::kOrdered},
        "claim + message kept + UPDATE");
}

void StoreBench::fill(const Place& place, Store& store, std::size_t there, Keys keys) {
  ConsumerRun load = run_of({Work::kClaims, StrategyKind::kDedupTable, keys});
  load.batch = 1'000;
  const auto hand = place.by_hand(Work::kClaims);
  consume(store, load, messages(1, keys));
  if (place.fill(keys, there)) return;
  constexpr std::size_t kPart = 500'000;
  for (std::size_t loaded = 0; loaded < there; loaded += kPart) {
    auto part = messages(std::min(kPart, there - loaded), keys);
    std::sort(part.begin(), part.end());  // by key, which stands first: loads sooner
    hand->preload(part);
    consume(store, load, part);
  }
}

void StoreBench::preloaded(const std::string& name, std::size_t there, Keys keys) {
  const bool wanted = report_.wanted(name) || report_.wanted(name + "-claims") ||
                      report_.wanted(name + "-of-empty") ||
                      report_.wanted(name + "-claims-of-empty");
  if (!wanted) return;
  const auto place = make_place_();
  const auto store = place->open();
  const Stopwatch watch;
  fill(*place, *store, there, keys);
  fmt::print(stderr, "{}: {} records twice in {:.0f} s\n", name, there, watch.seconds());
  among(name, *place, *store, {Work::kEffects, StrategyKind::kDedupTable, keys}, there);
  among(name + "-claims", *place, *store, {Work::kClaims, StrategyKind::kDedupTable, keys}, there);
}

void StoreBench::among(const std::string& name, const Place& place, Store& store,
                       const Setting& setting, std::size_t there) {
  const std::string what = has_effect(setting) ? "claim + UPDATE" : "claim alone";
  Case one;
  one.name = name;
  one.batch = kBatch;
  one.what = fmt::format("{}, {} records there before", what, there);
  const auto hand = place.by_hand(setting.work);
  const auto checked = [&](std::size_t count, const auto& side) {
    const auto payloads = messages(count, setting.keys);
    const long long before = place.sum();
    const double rate = side(payloads);
    if (has_effect(setting)) check_sum(place, payloads, before);
    return rate;
  };
  const auto hand_in = [&](std::size_t batch) {
    return [&hand, batch](const auto& payloads) { return hand->consume(payloads, batch); };
  };
  one.raw = [&] { return checked(sizes_.many, hand_in(kBatch)); };
  one.naive = [&] { return checked(sizes_.few, hand_in(1)); };
  one.semel = [&] {
    return checked(sizes_.many,
                   [&](const auto& payloads) { return deliver(store, setting, payloads); });
  };
  report_.run(one, sizes_.rounds);
  one.name += "-of-empty";
  one.what = fmt::format("{}; raw: Semel on an empty table", what);
  one.raw = [&] { return with_semel(setting, sizes_.many); };
  one.naive = {};
  report_.run(one, sizes_.rounds);
}

void StoreBench::naive_on(std::size_t connections) {
  const Setting setting{Work::kEffects, StrategyKind::kDedupTable, Keys::kOrdered};
  Case one;
  one.name = fmt::format("naive-on-{}", connections);
  one.batch = kBatch;
  one.what = fmt::format("claim + UPDATE; naive on {} connections", connections);
  one.naive = [&] {
    const auto place = make_place_();
    std::vector<std::unique_ptr<ByHand>> hands;
    std::vector<std::vector<std::string>> parts;
    for (std::size_t i = 0; i < connections; ++i) {
      hands.push_back(place->by_hand(setting.work));
      parts.push_back(messages(sizes_.few, setting.keys));
    }
    const Stopwatch watch;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < connections; ++i) {
      threads.emplace_back([&, i] { hands[i]->consume(parts[i], 1); });
    }
    for (std::thread& thread : threads) thread.join();
    const double rate = static_cast<double>(connections * sizes_.few) / watch.seconds();
    std::vector<std::string> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    check_sum(*place, all);
    return rate;
  };
  one.semel = [&] { return with_semel(setting, sizes_.many); };
  report_.run(one, sizes_.rounds);
}

void StoreBench::queue_order_backlog(std::size_t waiting, int workers) {
  constexpr std::size_t kOrderingKeys = 10;
  const Setting setting{Work::kEffects, StrategyKind::kDedupTable, Keys::kOrdered};
  const auto handled = [&](const std::optional<core::Order>& order) {
    const auto place = make_place_();
    const auto store = place->open();
    const auto payloads = make_payloads(waiting, setting.keys, ++seed_, kOrderingKeys);
    ConsumerRun run = run_of(setting);
    run.order = order;
    run.workers = workers;
    const double rate = consume_queue(*store, run, payloads);
    check_sum(*place, payloads);
    return rate;
  };
  Case one;
  one.name = "queue-order-backlog";
  one.batch = kBatch;
  one.what = fmt::format("{} wait in the queue with {} ordering keys; raw: without an order",
                         waiting, kOrderingKeys);
  one.raw = [&] { return handled(std::nullopt); };
  one.semel = [&] { return handled(core::Order{core::KeyPart::parse("json:/account").value()}); };
  report_.run(one, sizes_.rounds);
}

void StoreBench::latency() {
  const Setting setting{Work::kEffects, StrategyKind::kDedupTable, Keys::kOrdered};
  Case one;
  one.name = "latency-single";
  one.batch = 1;
  one.what = "1 / p50 of one message at a time, raw: one transaction";
  one.raw = [&] {
    const auto place = make_place_();
    const auto payloads = messages(sizes_.few, setting.keys);
    const double middle = median(place->by_hand(setting.work)->latencies(payloads));
    check_sum(*place, payloads);
    return 1 / middle;
  };
  one.semel = [&] {
    const auto place = make_place_();
    auto store = place->open();
    ConsumerRun run = run_of(setting);
    run.at_a_time = 1;
    Tally tally;
    const auto payloads = messages(sizes_.few, setting.keys);
    consume(*store, run, payloads, &tally);
    store.reset();
    check_sum(*place, payloads);
    return 1 / median(tally.latencies);
  };
  report_.run(one, sizes_.rounds);
}

}  // namespace semel::bench
