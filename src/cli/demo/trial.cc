#include "cli/demo/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/held_messages.h>

#include "cli/demo/database.h"
#include "cli/demo/free_address.h"
#include "cli/demo/own_work.h"
#include "cli/demo/redis.h"
#include "cli/demo/trial_store.h"
#include "cli/demo/worker.h"
#include "cli/text.h"
#include "compose/compose.h"

namespace semel::cli::demo {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPoll{1};
constexpr milliseconds kProgressPatience{60'000};
// How long the write lock is kept for both to look, once both copies have been received.
constexpr milliseconds kLook{4};
// How long receiving both copies may take under the write lock. A process that needs the lock for
// something else, such as removing old records, receives nothing until it has the lock.
constexpr milliseconds kLongestLook{500};
constexpr int kDepthEvery = 4;
constexpr std::size_t kAppend = 1'000;
constexpr std::uint64_t kLongestGraceUs = 2'000;
constexpr std::size_t kWorkers = 2;

[[noreturn]] void give_up(const std::string& why, const std::string& folder) {
  throw SemelError({ErrorKind::kUnavailable,
                    {},
                    "the demo cannot go on: " + why,
                    "the workers' output is in " + folder + "/*.log; --keep keeps it"});
}

class Trial {
 public:
  Trial(const Storm& storm, const TrialOptions& options);
  TrialResult run();

 private:
  // Waits until `done`; gives up if nothing happens for too long.
  template <class Done>
  void wait(const char* what, Done done);
  std::string queue_store() const { return options_.folder + "/queue.db"; }
  std::string race_config() const { return options_.folder + "/race.yaml"; }
  void write_config(const std::string& path, const std::string& source);
  WorkerSpec worker(const std::string& name, bool racer) const;
  bool serves_dashboard(std::size_t place) const { return !ui_.empty() && place == 0; }
  void look_whether_ui_is_free();
  void race();
  void append_twins();
  // Stops the workers at a point that depends on the contender.
  struct Barrier;
  void hold_up(Barrier& barrier, std::uint64_t stage);
  void race_one(Worker& first, Worker& second, std::uint64_t number, bool at_barrier);
  void storm();
  void append(std::size_t until);
  void kill_one(std::uint64_t stage);
  void start(std::size_t place);
  void settle_up();
  std::uint64_t handled() const;
  void count(TrialResult& result);
  Guarantee::Name guarantee() const;
  void retire(std::unique_ptr<Worker> worker);
  void add(const TallyCounts& counts);

  const Storm& storm_;
  const TrialOptions& options_;
  std::string ui_;
  // The user's tables. A contender with its own work keeps its queue in another file.
  Database database_;
  std::optional<RedisServer> redis_;
  std::optional<TrialStore> store_;
  std::array<std::unique_ptr<Worker>, kWorkers> workers_;
  int started_ = 0;
  std::size_t appended_ = 0;
  std::uint64_t kills_ = 0;
  // Sums of the workers that have ended.
  std::uint64_t received_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t duplicates_ = 0;
  std::uint64_t others_ = 0;
};

Trial::Trial(const Storm& storm, const TrialOptions& options)
    : storm_(storm), options_(options), ui_(options.ui), database_(ledger(options.folder)) {
  database_.run(schema_sql(options.contender.strategy, storm.messages));
  write_config(queue_config(options.folder), "queue");
  if (options.contender.needs_redis()) redis_.emplace(options.redis_server, options.folder);
  if (!options.contender.own_work) {
    write_config(race_config(), "stdin");
  }
  store_.emplace(queue_config(options.folder));
}

void Trial::write_config(const std::string& path, const std::string& source) {
  const Contender& contender = options_.contender;
  const std::string store = contender.own_work ? queue_store() : ledger(options_.folder);
  std::ofstream file(path);
  file << (contender.calls() ? call_config_yaml(contender.strategy, store)
                             : config_yaml(contender.strategy, store, source));
  file.close();
  if (!file) give_up("cannot write " + path, options_.folder);
}

// The specification of a worker. A racer reads its messages from stdin.
WorkerSpec Trial::worker(const std::string& name, bool racer) const {
  WorkerSpec spec;
  spec.folder = options_.folder;
  spec.name = name;
  spec.reads_stdin = racer;
  if (options_.contender.own_work) {
    spec.command = {"demo", "--strategy", options_.contender.name, "--own-work", options_.folder};
    if (racer) spec.command.emplace_back("--own-stdin");
    return spec;
  }
  spec.command = {"run", racer ? race_config() : queue_config(options_.folder), "-q", "-o", "none"};
  if (racer) spec.command.emplace_back("--once");
  return spec;
}

template <class Done>
void Trial::wait(const char* what, Done done) {
  auto until = steady_clock::now() + kProgressPatience;
  std::uint64_t seen = handled();
  while (!done()) {
    if (options_.stopped()) give_up("stopped", options_.folder);
    const std::uint64_t now_handled = handled();
    if (now_handled != seen) until = steady_clock::now() + kProgressPatience;
    seen = now_handled;
    if (steady_clock::now() > until) {
      give_up(fmt::format("nothing happens while waiting for {}", what), options_.folder);
    }
    for (const auto& worker : workers_) {
      if (worker && !worker->runs()) {
        give_up("a worker ended by itself: " + worker->log(), options_.folder);
      }
    }
    std::this_thread::sleep_for(kPoll);
  }
}

std::uint64_t Trial::handled() const {
  std::uint64_t sum = done_ + duplicates_ + others_;
  for (const auto& worker : workers_) {
    if (worker) sum += worker->ended();
  }
  return sum;
}

void Trial::retire(std::unique_ptr<Worker> worker) { add(worker->counts()); }

void Trial::add(const TallyCounts& counts) {
  received_ += counts.received.load();
  done_ += counts.done.load();
  duplicates_ += counts.duplicates.load();
  others_ += counts.others.load();
}

// Hands each raced message to two processes, one copy each. Meanwhile the demo holds the database's
// write lock, so both have looked before either can act. Strategy `query` then fails as it does on
// a bad day in production; the others must not.
void Trial::race() {
  if (storm_.raced == 0) return;
  if (options_.contender.calls()) return append_twins();
  const auto racer = [&](const char* name) { return std::make_unique<Worker>(worker(name, true)); };
  workers_ = {racer("racer-1"), racer("racer-2")};
  for (std::uint64_t i = 1; i <= storm_.raced; ++i) {
    options_.progress(fmt::format("racing twins: {} of {}", i, storm_.raced));
    // The first pair only shows that both workers are running: a starting process needs the lock.
    race_one(*workers_[0], *workers_[1], 3 * i, i > 1);
  }
  for (auto& worker : workers_) {
    auto racer_done = std::move(worker);
    racer_done->end_input();
    if (racer_done->wait() != 0) {
      give_up("a racer failed: " + racer_done->log(), options_.folder);
    }
    retire(std::move(racer_done));
  }
}

// Another process makes the call, so each copy is sent right after its original.
void Trial::append_twins() {
  std::vector<OutgoingMessage> batch;
  for (std::uint64_t i = 1; i <= storm_.raced; ++i) {
    for (int twin = 0; twin < 2; ++twin) batch.emplace_back().payload = payload_of(3 * i);
  }
  store_->append(batch);
}

void Trial::race_one(Worker& first, Worker& second, std::uint64_t number, bool at_barrier) {
  const std::uint64_t ended[] = {first.ended(), second.ended()};
  const std::uint64_t received[] = {first.counts().received.load(),
                                    second.counts().received.load()};
  {
    std::unique_ptr<WriteLock> barrier;
    if (at_barrier) barrier = std::make_unique<WriteLock>(database_);
    first.say(payload_of(number));
    second.say(payload_of(number));
    const auto until = steady_clock::now() + kLongestLook;
    wait("both twins to be received", [&] {
      if (first.counts().received.load() > received[0] &&
          second.counts().received.load() > received[1]) {
        return true;
      }
      if (steady_clock::now() > until) barrier.reset();
      return false;
    });
    if (barrier) std::this_thread::sleep_for(kLook);
  }
  wait("both twins to end", [&] { return first.ended() > ended[0] && second.ended() > ended[1]; });
}

void Trial::append(std::size_t until) {
  std::vector<OutgoingMessage> batch;
  while (appended_ < until) {
    batch.clear();
    const std::size_t end = std::min(until, appended_ + kAppend);
    for (; appended_ < end; ++appended_) {
      batch.push_back({.payload = storm_.queued[appended_],
                       .headers = {},
                       .content_type = {},
                       .type = {},
                       .key = {},
                       .delay = {}});
    }
    store_->append(batch);
  }
}

// A dashboard that the user did not ask for must not end the demo: its worker could not listen.
void Trial::look_whether_ui_is_free() {
  if (!options_.ui_taken || is_free_address(ui_)) return;
  ui_.clear();
  options_.ui_taken();
}

void Trial::start(std::size_t place) {
  WorkerSpec spec = worker(fmt::format("worker-{}", ++started_), false);
  if (serves_dashboard(place)) look_whether_ui_is_free();
  if (serves_dashboard(place)) spec.command.push_back("--ui=" + ui_);
  workers_[place] = std::make_unique<Worker>(spec);
}

struct Trial::Barrier {
  std::optional<Database> store;
  std::optional<WriteLock> lock;
};

// A contender with its own work is stopped between taking its key and doing the work, which is
// where two processes conflict. A caller is stopped before its call, and next time between the call
// and its record.
void Trial::hold_up(Barrier& barrier, std::uint64_t stage) {
  const Contender& contender = options_.contender;
  if (!contender.own_work) return;
  if (contender.calls() && stage % 2 == 0) {
    const auto calls = [this] { return database_.number("SELECT calls FROM service"); };
    const std::int64_t before = calls();
    // A call was made, however slow the machine; or all messages are done, and no call comes.
    wait("a call of the service", [&] { return calls() > before || store_->depth() == 0; });
    barrier.store.emplace(queue_store());
    barrier.lock.emplace(*barrier.store);
  } else {
    barrier.lock.emplace(database_);
  }
  std::this_thread::sleep_for(kLook);
}

// Kills a worker in the midst of this stage's messages, and starts another in its place.
void Trial::kill_one(std::uint64_t stage) {
  std::size_t victim = stage % kWorkers;
  const std::uint64_t goal = 1 + std::max<std::uint64_t>(1, (appended_ / (stage + 1)) / 4);
  const std::array<std::uint64_t, kWorkers> before = {workers_[0]->counts().received.load(),
                                                      workers_[1]->counts().received.load()};
  int polls = 0;
  wait("a worker to make progress", [&] {
    if (workers_[victim]->counts().received.load() >= before[victim] + goal) return true;
    if (++polls % kDepthEvery != 0 || store_->depth() > 0) return false;
    // If all messages are done, kill the worker that has done any.
    const std::size_t other = (victim + 1) % kWorkers;
    if (workers_[victim]->counts().received.load() == 0 &&
        workers_[other]->counts().received.load() > 0) {
      victim = other;
    }
    return workers_[victim]->counts().received.load() > 0;
  });
  Barrier barrier;
  hold_up(barrier, stage);
  // Varies at which point of a batch the kill comes.
  const std::uint64_t grace = system_environment().random->next() % kLongestGraceUs;
  std::this_thread::sleep_for(std::chrono::microseconds(grace));
  if (!workers_[victim]->kill()) {
    give_up("a worker ended before it was killed: " + workers_[victim]->log(), options_.folder);
  }
  ++kills_;
  options_.progress(fmt::format("{} of {} deliveries, {} killed", grouped(handled()),
                                grouped(storm_.sent()), kills_));
  retire(std::move(workers_[victim]));
  start(victim);
}

void Trial::storm() {
  const std::size_t all = storm_.queued.size();
  for (std::size_t place = 0; place < kWorkers; ++place) start(place);
  for (std::uint64_t stage = 0; stage < options_.kills; ++stage) {
    append(all * (stage + 1) / (options_.kills + 1));
    kill_one(stage);
  }
  append(all);
  int polls = 0;
  wait("the queue to be empty", [&] {
    const bool look = ++polls % kDepthEvery == 0;
    if (look) {
      options_.progress(fmt::format("{} of {} deliveries, {} killed", grouped(handled()),
                                    grouped(storm_.sent()), kills_));
    }
    return look && store_->depth() == 0;
  });
}

void Trial::settle_up() {
  for (std::size_t place = 0; place < kWorkers; ++place) {
    // The queue is empty, so this worker has nothing more to count.
    if (serves_dashboard(place)) {
      add(workers_[place]->counts());
      continue;
    }
    auto last = std::move(workers_[place]);
    if (last->drain() != 0) give_up("a worker failed: " + last->log(), options_.folder);
    retire(std::move(last));
  }
}

void Trial::count(TrialResult& result) {
  const auto number = [&](const char* sql) {
    return static_cast<std::uint64_t>(database_.number(sql));
  };
  const std::uint64_t met = number("SELECT count(DISTINCT id) FROM effects");
  result.messages = storm_.messages;
  result.sent = storm_.sent();
  result.delivered = received_;
  result.effects = number("SELECT count(*) FROM effects");
  result.lost = storm_.messages - std::min(storm_.messages, met);
  result.doubled = result.effects - met;
  result.kills = kills_;
  if (options_.contender.calls()) {
    result.calls = number("SELECT calls FROM service");
    result.parked = store_->parked();
  }
  // A strategy without a record runs its operation again and never says "duplicate".
  result.duplicates = duplicates_ + (done_ > result.effects ? done_ - result.effects : 0);
  result.given_back = others_;
  const std::uint64_t told = result.effects + result.duplicates + others_;
  result.interrupted = received_ > told ? received_ - told : 0;
  result.balance = database_.number(balance_sql(options_.contender.strategy));
  result.expected_balance = expected_balance(storm_.messages);
}

Guarantee::Name Trial::guarantee() const {
  const auto& own_work = options_.contender.own_work;
  if (own_work == OwnWork::kSetNx) return Guarantee::Name::kNone;
  if (own_work == OwnWork::kGuard) return Guarantee::Name::kAtLeastOnce;
  // A config declares this for a command or an endpoint; this service is the demo's own.
  if (own_work == OwnWork::kKeyed) return Guarantee::Name::kKeyedRetry;
  const config::Config& config = store_->config();
  return compose::guarantee_of(config, config.consumers.front()).name;
}

TrialResult Trial::run() {
  TrialResult result;
  result.guarantee = to_string(guarantee());
  race();
  const auto began = steady_clock::now();
  storm();
  result.seconds = std::chrono::duration<double>(steady_clock::now() - began).count();
  result.per_second = static_cast<double>(storm_.queued.size()) / std::max(result.seconds, 1e-3);
  settle_up();
  count(result);
  return result;
}

}  // namespace

TrialResult run_trial(const Storm& storm, const TrialOptions& options,
                      const std::function<void(const TrialResult&)>& ended) {
  Trial trial(storm, options);
  TrialResult result = trial.run();
  if (ended) ended(result);
  return result;
}

}  // namespace semel::cli::demo
