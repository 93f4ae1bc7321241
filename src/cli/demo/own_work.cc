#include "cli/demo/own_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include <semel/guard.h>
#include <semel/redis.h>
#include <semel/runner.h>
#include <semel/spi/held_messages.h>

#include "cli/demo/database.h"
#include "cli/demo/redis.h"
#include "cli/demo/storm.h"
#include "cli/demo/trial_store.h"
#include "cli/tally.h"
#include "system/mutex.h"

namespace semel::cli::demo {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kOwnLease{1'000};
constexpr milliseconds kHidden{2'000};
constexpr milliseconds kQueuePoll{2};
constexpr milliseconds kHolderPoll{10};
constexpr std::size_t kTaken = 20;
constexpr std::size_t kTakenBytes = 1 << 20;

// Checks whether a message is done, and does its work if not.
class Once {
 public:
  enum class Answer { kDone, kDuplicate };
  virtual ~Once() = default;
  virtual Answer handle(const std::string& payload) = 0;

 protected:
  explicit Once(const std::string& folder) : ledger_(ledger(folder)) {
    // A killed process loses nothing that it has written.
    ledger_.run("PRAGMA synchronous = NORMAL");
  }
  static std::string key_of(const std::string& payload) {
    const std::uint64_t number = number_of(payload);
    if (number == 0) {
      throw SemelError(
          {ErrorKind::kRejected, {}, "this is no message of the demo: " + payload, {}});
    }
    return fmt::format("p-{}", number);
  }
  void work(const std::string& payload) { ledger_.run(work_sql(number_of(payload))); }

 private:
  Database ledger_;
};

class OnceBySetNx final : public Once {
 public:
  explicit OnceBySetNx(const std::string& folder) : Once(folder), redis_(redis_socket(folder)) {}

  Answer handle(const std::string& payload) override {
    if (!redis_.set_nx("payments:" + key_of(payload))) return Answer::kDuplicate;
    work(payload);
    return Answer::kDone;
  }

 private:
  Redis redis_;
};

class OnceByGuard final : public Once {
 public:
  explicit OnceByGuard(const std::string& folder)
      : Once(folder),
        store_(open(folder)),
        guard_(*store_, {.consumer = "payments", .lease = kOwnLease}) {}

  Answer handle(const std::string& payload) override {
    const Fingerprint fingerprint = fingerprint_of(payload);
    for (;;) {
      const Outcome outcome =
          value_or_throw(guard_.run_once(key_of(payload), fingerprint, [&] { work(payload); }));
      if (outcome.kind == Outcome::Kind::kDone) return Answer::kDone;
      if (outcome.kind == Outcome::Kind::kDuplicate) return Answer::kDuplicate;
      if (outcome.kind != Outcome::Kind::kBusy) {
        throw SemelError(
            {ErrorKind::kRejected,
             {},
             fmt::format("the guard says {}: {}", to_string(outcome.kind), outcome.error),
             {}});
      }
      // The holder may keep the claim for all of `delay`, but is usually done long before.
      std::this_thread::sleep_for(std::min(outcome.delay, kHolderPoll));
    }
  }

 private:
  static std::unique_ptr<Store> open(const std::string& folder) {
    RedisOptions options;
    options.url = "redis+unix://" + redis_socket(folder);
    return value_or_throw(open_redis(std::move(options)));
  }

  std::unique_ptr<Store> store_;
  Guard guard_;
};

std::unique_ptr<Once> once_of(const OwnWorkOptions& options) {
  if (options.kind == OwnWork::kSetNx) return std::make_unique<OnceBySetNx>(options.folder);
  return std::make_unique<OnceByGuard>(options.folder);
}

void handle(Once& once, Tally& tally, const std::string& payload) {
  TallyCounts& counts = tally.counts();
  ++counts.received;
  const bool done = once.handle(payload) == Once::Answer::kDone;
  ++(done ? counts.done : counts.duplicates);
}

int run_calls(const OwnWorkOptions& options) {
  Tally tally(options.tally);
  Database service(ledger(options.folder));
  service.run("PRAGMA synchronous = NORMAL");
  system::Mutex one_at_a_time;
  const bool honours_key = options.kind == OwnWork::kKeyed;
  Runner runner = Runner::from_file(queue_config(options.folder));
  runner.on("payments", [&](const Message& message, const Attempt&) -> Verdict {
    const system::MutexLock lock(one_at_a_time);
    service.run(call_sql(number_of(message.payload()), honours_key));
    return done();
  });
  return runner.observe(tally).run();
}

}  // namespace

std::string queue_config(const std::string& folder) { return folder + "/queue.yaml"; }
std::string ledger(const std::string& folder) { return folder + "/demo.db"; }

int do_own_work(const OwnWorkOptions& options) {
  if (options.kind == OwnWork::kCall || options.kind == OwnWork::kKeyed) return run_calls(options);
  Tally tally(options.tally);
  const auto once = once_of(options);
  if (options.reads_stdin) {
    for (std::string line; std::getline(std::cin, line);) handle(*once, tally, line);
    return 0;
  }
  const TrialStore trial(queue_config(options.folder));
  for (;;) {
    const std::vector<Arrival> taken = trial.take(kTaken, kTakenBytes, kHidden);
    if (taken.empty()) std::this_thread::sleep_for(kQueuePoll);
    std::vector<RowTag> rows;
    for (const Arrival& arrival : taken) {
      handle(*once, tally, std::string(arrival.payload));
      rows.push_back(*arrival.row);
    }
    trial.remove(rows);
  }
}

}  // namespace semel::cli::demo
