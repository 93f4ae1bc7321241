#include "benchmarks/store_bench.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>
#include <utility>

#include <semel/spi/run_markers.h>

#include "benchmarks/measure.h"
#include "core/pace.h"

namespace semel::bench {
namespace {

using core::StrategyKind;

bool has_effect(const Setting& setting) {
  return setting.work == Work::kEffects || setting.work == Work::kInbox;
}

}  // namespace

void StoreBench::check_sum(const SocketDirectory& place, const std::vector<std::string>& payloads,
                           long long before) {
  check_sum(place, before + sum_of_amounts(payloads));
}

void StoreBench::check_sum(const SocketDirectory& place, long long expected) {
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

void StoreBench::fill(const SocketDirectory& place, Store& store, std::size_t there, Keys keys) {
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

void StoreBench::among(const std::string& name, const SocketDirectory& place, Store& store,
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

namespace {

// How long until a part was handled at four fifths of the speed of the second half.
double seconds_to_speed(const std::vector<double>& ends) {
  const std::size_t count = ends.size();
  const auto rate = [&](std::size_t first, std::size_t last) {
    const double from = first == 0 ? 0 : ends[first - 1];
    return static_cast<double>(last - first) / std::max(ends[last - 1] - from, 1e-9);
  };
  const double usual = rate(count / 2, count);
  const std::size_t part = std::max<std::size_t>(count / 20, 1);
  std::size_t first = 0;
  while (first + part <= count / 2 && rate(first, first + part) < usual * 4 / 5) first += part;
  return ends[std::min(first + part, count) - 1];
}

// A process that dies with messages in hand.
void die_with(const SocketDirectory& place, const ConsumerRun& run, std::size_t in_hand) {
  int ready[2];
  if (::pipe(ready) != 0) give_up("no pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    const auto store = place.open();
    take_in_hand(*store, run, in_hand);
    if (::write(ready[1], "r", 1) != 1) ::_exit(70);
    for (;;) ::pause();
  }
  ::close(ready[1]);
  char byte = 0;
  if (::read(ready[0], &byte, 1) != 1) give_up("the process to be killed did not get ready");
  ::close(ready[0]);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace

void StoreBench::after_kill(std::size_t in_hand, std::size_t waiting) {
  const std::string name = "after-kill-seconds";
  if (!report_.wanted(name)) return;
  set_running(name);
  std::vector<double> killed, clean, first;
  for (std::size_t round = 0; round < sizes_.rounds; ++round) {
    for (const bool kill : {false, true}) {
      const auto place = make_place_();
      const ConsumerRun run = run_of({Work::kTwoPhase, StrategyKind::kStateMachine});
      enqueue(*place->open(), run, messages(waiting, Keys::kOrdered));
      if (kill) die_with(*place, run, in_hand);
      const auto store = place->open();
      // A server knows of a death a moment later.
      for (bool known = !kill; !known;) {
        const auto swept = store->facets().runs->sweep();
        if (!swept) give_up(swept.error().message);
        known = *swept;
      }
      const std::vector<double> ends = end_times(*store, run);
      check_count(ends.size(), waiting, "messages ended");
      (kill ? killed : clean).push_back(seconds_to_speed(ends));
      if (kill) first.push_back(ends[in_hand - 1]);
    }
  }
  report_.add(name, kBatch, median(clean), median(killed), std::nullopt,
              fmt::format("s until state_machine is at its speed, {} in hand of a killed process "
                          "(handled after {:.2f} s); raw: none",
                          in_hand, median(first)));
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
