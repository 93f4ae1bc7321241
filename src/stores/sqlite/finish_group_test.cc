// Several threads that finish at the same time: one commit for many, and each its own answer.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>

#include <semel/spi/failpoints.h>

#include "core/key_encoding.h"
#include "stores/sqlite/test_place.h"
#include "tests/support/test_environment.h"
#include "tests/support/waiting.h"

namespace semel::sqlite {
namespace {

// Threads that wait for each other to be held up, as a slow disk holds up all but one. Thread-safe.
class Bystanders {
 public:
  // The calling thread is one of them from here on.
  void add_me() {
    const std::scoped_lock lock(mutex_);
    threads_.push_back(::gettid());
  }
  // Whether all but the calling thread sleep, or have ended.
  bool sleep() const {
    const std::scoped_lock lock(mutex_);
    return std::all_of(threads_.begin(), threads_.end(),
                       [](pid_t thread) { return thread == ::gettid() || sleeps(thread); });
  }

 private:
  static bool sleeps(pid_t thread) {
    std::ifstream file(fmt::format("/proc/self/task/{}/stat", thread));
    const std::string told{std::istreambuf_iterator<char>(file), {}};
    // The state is the word behind the name, which stands in parentheses.
    const auto name_end = told.rfind(") ");
    return name_end == std::string::npos || told[name_end + 2] == 'S';
  }

  mutable std::mutex mutex_;
  std::vector<pid_t> threads_;
};

class FinishGroupTest : public SqliteTest {
 protected:
  FinishGroupTest() {
    SqliteOptions wanted = options();
    wanted.environment = &environment_.get();
    store_ = SqliteTest::open(wanted);
    consumer_ = attach(*store_);
  }
  std::size_t commits() const { return environment_.failpoints.hits(failpoint::kCommitBefore); }

  test::TestEnvironment environment_;
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
};

TEST_F(FinishGroupTest, ManyThreadsShareCommitsAndEachGetsItsOwnAnswer) {
  constexpr std::size_t kThreads = 12;
  constexpr std::size_t kEach = 20;
  std::vector<std::vector<Lease>> leases(kThreads);
  for (std::size_t t = 0; t < kThreads; ++t) {
    for (const Message& m : test::make_messages(consumer_, "t" + std::to_string(t) + "-", kEach)) {
      leases[t].push_back(acquire(*store_, m));
    }
    // Every fifth lease is wrong: its nonce is not the record's.
    for (std::size_t i = 0; i < kEach; i += 5) leases[t][i].nonce = Nonce{};
  }
  std::atomic<std::size_t> wrong{0};
  std::barrier together(kThreads);
  // A commit lasts until the others have come to it: where the file is in memory, it would be over
  // before.
  Bystanders others;
  environment_.failpoints.on(failpoint::kCommitBefore, [&] {
    EXPECT_TRUE(test::comes_true([&] { return others.sleep(); }));
  });
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      others.add_me();
      for (std::size_t i = 0; i < kEach; ++i) {
        together.arrive_and_wait();
        const Finish done = test::completed(leases[t][i], "of " + std::to_string(t));
        const auto applied = store_->finish({&done, 1});
        const Applied expected = i % 5 == 0 ? Applied::kLeaseLost : Applied::kYes;
        if (!applied || applied->front() != expected) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_LT(commits(), kThreads * kEach / 2) << "or each had a commit of its own";
  for (std::size_t t = 0; t < kThreads; ++t) {
    const auto shown = store_->facets().records->show(leases[t][1].key).value();
    ASSERT_TRUE(shown);
    EXPECT_EQ(shown->result, "of " + std::to_string(t));
  }
}

TEST_F(FinishGroupTest, OneThatIsRefusedHarmsNoOther) {
  constexpr int kRounds = 30;
  sql("CREATE TRIGGER poison BEFORE INSERT ON semel_dead_letter WHEN NEW.reason = 'poison' "
      "BEGIN SELECT RAISE(ABORT, 'refused'); END");
  std::atomic<int> refused{0};
  std::atomic<int> done{0};
  std::barrier together(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        const auto message =
            test::make_message(consumer_, "r" + std::to_string(t) + "-" + std::to_string(i));
        const Lease lease = acquire(*store_, message);
        const Finish finish =
            t == 0 ? test::dead(lease, &message, "poison") : test::completed(lease);
        together.arrive_and_wait();
        const auto applied = store_->finish({&finish, 1});
        if (!applied) ++refused;
        if (applied && applied->front() == Applied::kYes) ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, kRounds);
  EXPECT_EQ(done, 3 * kRounds);
}

TEST_F(FinishGroupTest, AloneNobodyWaits) {
  const Finish first = test::completed(acquire(*store_, test::make_message(consumer_, "a")));
  EXPECT_EQ(store_->finish({&first, 1}).value().front(), Applied::kYes);
  EXPECT_EQ(commits(), 1U);
}

}  // namespace
}  // namespace semel::sqlite
