// While generations roll, are dropped and change, no key is done twice within its ttl, and no key
// is held by two.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "stores/postgres/test_live_place.h"
#include "tests/support/test_environment.h"

namespace semel::postgres {
namespace {

using test::make_message;

constexpr std::size_t kKeys = 30;
constexpr std::size_t kProcesses = 3;
constexpr std::size_t kThreads = 2;  // of each process
constexpr auto kLongest = std::chrono::minutes(5);

// The truth about each key, next to the store.
class Account {
 public:
  explicit Account(milliseconds ttl) : ttl_(ttl) {}

  void advanced(milliseconds by) {
    const std::scoped_lock lock(mutex_);
    passed_ += by;
  }
  // Called after a claim was answered, and so with the latest time it may have been made.
  void acquired(std::size_t key) {
    const std::scoped_lock lock(mutex_);
    Known& known = known_[key];
    EXPECT_FALSE(known.held) << key << " is held by two";
    EXPECT_TRUE(!known.done || passed_ - *known.done >= ttl_) << key << " was done before";
    known.held = true;
    ++acquired_;
  }
  // Called before the store's finish, and so with the earliest time.
  void ending(std::size_t key, bool done) {
    const std::scoped_lock lock(mutex_);
    Known& known = known_[key];
    known.held = false;
    if (done) known.done = passed_;
  }
  std::size_t acquired() const {
    const std::scoped_lock lock(mutex_);
    return acquired_;
  }

 private:
  struct Known {
    bool held = false;
    std::optional<milliseconds> done;
  };
  const milliseconds ttl_;
  mutable std::mutex mutex_;
  milliseconds passed_{0};
  std::map<std::size_t, Known> known_;
  std::size_t acquired_ = 0;
};

class RollingLive : public LiveTest {
 protected:
  struct Batch {
    std::vector<std::size_t> keys;
    std::vector<Message> messages;
  };
  Batch some(std::mt19937_64& random) const {
    Batch batch;
    for (std::size_t key = 0; key < kKeys; ++key) {
      if (random() % 4 != 0) continue;
      batch.keys.push_back(key);
      batch.messages.push_back(make_message(consumer_, fmt::format("key {}", key)));
    }
    return batch;
  }

  void work_with_leases(Store& store, std::mt19937_64& random) {
    const Batch batch = some(random);
    const auto claims = store.claim(test::pointers(batch.messages), {kLease, {}, false});
    if (!claims) return expect_passing(claims.error());
    std::vector<Finish> finishes;
    std::vector<std::size_t> keys;
    for (std::size_t i = 0; i < claims->size(); ++i) {
      const auto* acquired = std::get_if<Acquired>(&claims->at(i));
      if (acquired == nullptr) continue;
      account_.acquired(batch.keys[i]);
      keys.push_back(batch.keys[i]);
      switch (random() % 4) {
        case 0:
          finishes.push_back(test::not_started(acquired->lease));
          break;
        case 1:
          finishes.push_back(test::retrying(acquired->lease, 0ms, nullptr));
          break;
        default:
          finishes.push_back(test::completed(acquired->lease));
      }
    }
    pause(random);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      account_.ending(keys[i], finishes[i].to == Finish::To::kCompleted);
    }
    while (true) {
      const auto applied = store.finish(finishes);
      if (!applied) {
        expect_passing(applied.error());
        continue;
      }
      for (const Applied one : *applied) EXPECT_EQ(one, Applied::kYes) << "a lease of a year";
      return;
    }
  }

  void work_in_a_unit(Store& store, std::mt19937_64& random) {
    const Batch batch = some(random);
    auto unit = store.facets().transactional->begin({}).value();
    const auto claims = unit->claim(test::pointers(batch.messages));
    if (!claims) return expect_passing(claims.error());
    std::vector<Finish> finishes;
    std::vector<std::size_t> keys;
    for (std::size_t i = 0; i < claims->size(); ++i) {
      const auto* acquired = std::get_if<Acquired>(&claims->at(i));
      if (acquired == nullptr) continue;
      account_.acquired(batch.keys[i]);
      keys.push_back(batch.keys[i]);
      finishes.push_back(test::completed(acquired->lease));
    }
    pause(random);
    const bool given_up = random() % 4 == 0;
    for (const std::size_t key : keys) account_.ending(key, !given_up);
    if (given_up) return;
    // By now no other session has locked the rows it changes.
    const auto applied = unit->finish(finishes);
    ASSERT_TRUE(applied.has_value()) << applied.error().message;
    const auto committed = unit->commit();
    ASSERT_TRUE(committed.has_value()) << committed.error().message;
  }

  static void pause(std::mt19937_64& random) {
    // Sometimes for so long that others have learned of a new generation meanwhile.
    const auto longest = random() % 6 == 0 ? 100ms : 5ms;
    std::this_thread::sleep_for(std::chrono::microseconds(random() % longest.count() * 1'000));
  }
  // Errors after which a strategy begins again.
  void expect_passing(const Error& error) {
    ++begun_again_;
    EXPECT_TRUE(error.kind == ErrorKind::kRetryTransaction || error.kind == ErrorKind::kBlocked)
        << error.message;
  }

  // Rolls, drops and changes the ttl `rounds` times, and continues until enough keys were claimed
  // meanwhile and a claim met a change.
  void roll(Store& store, std::size_t rounds, std::mt19937_64& random) {
    const auto longest = std::chrono::steady_clock::now() + kLongest;
    for (std::size_t round = 0; round < rounds || !is_enough(rounds); ++round) {
      ASSERT_LT(std::chrono::steady_clock::now(), longest)
          << account_.acquired() << " keys claimed, " << begun_again_ << " begun again";
      const milliseconds by = random() % 3 == 0 ? kTtl : kRoll;
      advance(by);
      account_.advanced(by);
      const auto report = store.purge(10s);
      EXPECT_TRUE(report.has_value()) << report.error().message;
      if (round % 4 == 3) attach(store, round % 8 == 3 ? kTtl * 2 : kTtl);
      std::this_thread::sleep_for(20ms);
    }
  }

  bool is_enough(std::size_t rounds) const {
    return account_.acquired() > rounds * 5 && begun_again_ > 0;
  }

  ConsumerNumber consumer_{};
  // The shorter of the two ttls.
  Account account_{kTtl};
  std::atomic<int> begun_again_ = 0;
};

TEST_F(RollingLive, NoKeyIsAcquiredTwice) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  const char* const soak = std::getenv("SEMEL_SOAK");
  const std::size_t rounds = soak != nullptr && std::string_view(soak) == "1" ? 400 : 30;
  std::vector<std::unique_ptr<Store>> stores;
  for (std::size_t i = 0; i < kProcesses; ++i) {
    stores.push_back(open());
    consumer_ = attach(*stores.back());
  }
  const auto rolling = open();
  attach(*rolling);
  std::atomic<bool> ended = false;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kProcesses * kThreads; ++i) {
      threads.emplace_back([&, i] {
        std::mt19937_64 random(seed + i);
        Store& store = *stores[i % kProcesses];
        while (!ended) {
          if (random() % 2 == 0) {
            work_in_a_unit(store, random);
          } else {
            work_with_leases(store, random);
          }
        }
      });
    }
    std::mt19937_64 random(seed + kProcesses * kThreads);
    roll(*rolling, rounds, random);
    ended = true;
  }
  EXPECT_EQ(sql("SELECT count(*) FROM (SELECT id FROM semel.semel_record GROUP BY id HAVING "
                "count(*) > 1) AS twice"),
            "0");
  EXPECT_GT(std::stoi(sql("SELECT max(number) FROM semel.semel_generation")), 5);
  EXPECT_NE(sql("SELECT min(number) FROM semel.semel_generation"), "1") << "none was dropped";
  // A move and a claim that collide may have to begin again; if they used two lock orders all the
  // time, there would be many such cases.
  EXPECT_LE(std::stoi(sql("SELECT deadlocks FROM pg_stat_database WHERE datname = "
                          "current_database()")),
            3);
}

}  // namespace
}  // namespace semel::postgres
