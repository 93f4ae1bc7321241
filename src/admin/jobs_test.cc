#include "admin/jobs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>

#include "admin/test_api.h"
#include "tests/support/waiting.h"

namespace semel::admin {
namespace {

using operate::LetterAct;
using operate::Rate;
using test::comes_true;

class JobsTest : public ApiTest {
 protected:
  // Adds `count` letters, each with a key of its own.
  void add_letters(int count) {
    for (int i = 0; i < count; ++i) {
      finish("key-" + std::to_string(made_++), Finish::To::kDead, "handler.native");
    }
  }
  Result<JobView> begin(LetterAct act, std::optional<Rate> rate = std::nullopt,
                        std::size_t limit = std::numeric_limits<std::size_t>::max()) {
    operate::LetterWork work;
    work.act = act;
    work.query.limit = limit;
    work.rate = rate;
    AuditEntry entry;
    entry.who = "ops";
    Nonce request;
    request.bytes[0] = static_cast<unsigned char>(++acts_);
    JobView about;
    about.id = store_->facets().audit->append(request, entry).value();
    about.selection = "all";
    about.began_by = "ops";
    return jobs_.begin(std::move(work), about);
  }
  JobView view(std::int64_t id) const { return jobs_.show(id).value(); }
  bool comes_to(std::int64_t id, JobState state) const {
    return comes_true([&] { return view(id).state == state; });
  }
  // How the job's audit entry ended; nullopt: it has not ended.
  std::optional<std::string> outcome(std::int64_t id) {
    const auto entries = store_->facets().audit->list(std::nullopt, 1'000).value();
    for (const AuditEntry& entry : entries) {
      if (entry.id == id) return entry.outcome;
    }
    return std::nullopt;
  }
  std::size_t stored() { return store_->facets().dead_letters->list({}).value().size(); }

  static constexpr Rate kSlow{1, std::chrono::hours(1)};
  int made_ = 0;
  int acts_ = 0;
};

TEST_F(JobsTest, AJobDoesItAllAndItsEntrySaysHowMuch) {
  add_letters(3);
  const auto begun = begin(LetterAct::kDiscard);
  ASSERT_TRUE(begun) << begun.error().message;
  EXPECT_EQ(begun->state, JobState::kCounting);
  ASSERT_TRUE(comes_to(begun->id, JobState::kDone)) << view(begun->id).why;
  EXPECT_EQ(view(begun->id).progress.done, 3U);
  EXPECT_TRUE(view(begun->id).ended_at);
  EXPECT_EQ(outcome(begun->id), "3 discarded");
  EXPECT_EQ(stored(), 0U);
}

// The job is repeated, as by an operator who does not know how far the first one got.
TEST_F(JobsTest, AJobThatIsRepeatedReplaysNoneTwice) {
  add_letters(3);
  const auto first = begin(LetterAct::kReplay);
  ASSERT_TRUE(comes_to(first->id, JobState::kDone));
  EXPECT_EQ(view(first->id).progress.done, 3U);
  add_letters(1);
  const auto again = begin(LetterAct::kReplay);
  ASSERT_TRUE(comes_to(again->id, JobState::kDone));
  EXPECT_EQ(view(again->id).progress.done, 1U);
  EXPECT_EQ(view(again->id).progress.on_their_way, 3U);
  const auto letters = store_->facets().dead_letters->list({}).value();
  ASSERT_EQ(letters.size(), 4U);
  for (const DeadLetter& letter : letters) {
    EXPECT_EQ(letter.replayed, 1);
  }
}

TEST_F(JobsTest, APausedJobDoesNothingUntilItIsResumed) {
  add_letters(3);
  running_ = false;  // so that the job waits and can be paused before it begins
  const auto job = begin(LetterAct::kDiscard);
  ASSERT_TRUE(comes_to(job->id, JobState::kWaiting));
  EXPECT_EQ(view(job->id).why, "the run has no store now");
  EXPECT_EQ(jobs_.pause(job->id)->state, JobState::kPaused);
  running_ = true;
  const auto other = begin(LetterAct::kReplay);
  ASSERT_TRUE(comes_to(other->id, JobState::kDone)) << "the thread has gone on";
  EXPECT_EQ(view(job->id).state, JobState::kPaused);
  EXPECT_EQ(stored(), 3U);
  EXPECT_NE(jobs_.resume(job->id)->state, JobState::kPaused);
  ASSERT_TRUE(comes_to(job->id, JobState::kDone));
  EXPECT_EQ(stored(), 0U);
}

TEST_F(JobsTest, AnOutageIsWaitedFor) {
  add_letters(3);
  running_ = false;
  const auto job = begin(LetterAct::kDiscard);
  ASSERT_TRUE(comes_to(job->id, JobState::kWaiting));
  running_ = true;
  ASSERT_TRUE(comes_to(job->id, JobState::kDone));
  EXPECT_EQ(view(job->id).progress.done, 3U);
  EXPECT_TRUE(view(job->id).why.empty());
}

TEST_F(JobsTest, ACancelledJobLeavesTheRest) {
  add_letters(3);
  const auto job = begin(LetterAct::kDiscard, kSlow);
  ASSERT_TRUE(comes_true([&] { return view(job->id).progress.done == 1; }));
  ASSERT_TRUE(jobs_.cancel(job->id, "by ops: a mistake"));
  ASSERT_TRUE(comes_to(job->id, JobState::kCancelled));
  EXPECT_EQ(outcome(job->id), "cancelled: by ops: a mistake; before it, 1 discarded of 3");
  EXPECT_EQ(stored(), 2U);
  EXPECT_EQ(jobs_.resume(job->id)->state, JobState::kCancelled);
  EXPECT_FALSE(jobs_.cancel(987'654, ""));
}

TEST_F(JobsTest, TheEndOfTheRunCancelsAndSaysSo) {
  add_letters(3);
  const auto slow = begin(LetterAct::kReplay, kSlow);
  const auto paused = begin(LetterAct::kReplay, kSlow);
  ASSERT_TRUE(comes_true([&] { return view(slow->id).progress.done == 1; }));
  jobs_.pause(paused->id);
  jobs_.stop();
  for (const std::int64_t id : {slow->id, paused->id}) {
    EXPECT_EQ(view(id).state, JobState::kCancelled);
    EXPECT_EQ(view(id).why, "the run ended");
    EXPECT_TRUE(outcome(id)->starts_with("cancelled: the run ended; before it, "));
  }
  const auto late = begin(LetterAct::kReplay);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, "R345");
}

TEST_F(JobsTest, TheirNumberHasABound) {
  add_letters(2);
  running_ = false;  // so that no job ends
  for (std::size_t i = 0; i < Jobs::kMostAtOnce; ++i) {
    ASSERT_TRUE(begin(LetterAct::kDiscard, kSlow)) << i;
  }
  const auto refused = begin(LetterAct::kDiscard);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "R345");
  EXPECT_EQ(jobs_.list().size(), Jobs::kMostAtOnce);
  running_ = true;
  for (const JobView& job : jobs_.list()) jobs_.cancel(job.id, "by ops");
  std::int64_t last = 0;
  for (std::size_t i = 0; i < Jobs::kMostKept + 2; ++i) {
    ASSERT_TRUE(comes_true([&] {
      const auto job = begin(LetterAct::kReplay);
      if (job) last = job->id;
      return job.has_value();
    }));
    ASSERT_TRUE(comes_to(last, JobState::kDone));
  }
  EXPECT_LE(jobs_.list().size(), Jobs::kMostKept);
  EXPECT_EQ(jobs_.list().front().id, last) << "the newest first, and the oldest forgotten";
}

// A job with many parts and without a rate was begun earlier.
class JobTurnsTest : public JobsTest {
 protected:
  // Blocks before each part, and before each end.
  Store& served() override {
    begun_.acquire();
    begun_.release();
    for (const JobView& one : jobs_.list()) {
      if (one.rate.empty() && one.state == JobState::kRunning) seen_ = one.progress.done;
      if (!one.rate.empty() && one.state == JobState::kDone && !at_end_) at_end_ = seen_;
    }
    return *store_;
  }
  std::binary_semaphore begun_{0};
  std::size_t seen_ = 0;               // letters that the large job has taken
  std::optional<std::size_t> at_end_;  // the same number when the small job ends
};

TEST_F(JobTurnsTest, ALargeJobLetsTheOthersHaveTheirTurns) {
  add_letters(2'000);
  const auto large = begin(LetterAct::kReplay);
  const auto small = begin(LetterAct::kReplay, Rate{1'000'000, std::chrono::seconds(1)}, 1);
  begun_.release();
  ASSERT_TRUE(comes_to(small->id, JobState::kDone)) << view(small->id).why;
  ASSERT_TRUE(comes_to(large->id, JobState::kDone)) << view(large->id).why;
  ASSERT_TRUE(at_end_) << "the small job was over before the last part of the large one";
  EXPECT_LT(*at_end_, 2'000U);
}

// Also meaningful under ThreadSanitizer.
TEST_F(JobsTest, RaceOfEverythingAtOnce) {
  add_letters(50);
  std::atomic<bool> over{false};
  std::thread looking([&] {
    while (!over) {
      for (const JobView& job : jobs_.list()) {
        jobs_.pause(job.id);
        jobs_.resume(job.id);
      }
    }
  });
  const auto first = begin(LetterAct::kReplay, Rate{1'000, std::chrono::seconds(1)});
  const auto second = begin(LetterAct::kDiscard, Rate{1'000, std::chrono::seconds(1)});
  EXPECT_TRUE(comes_to(first->id, JobState::kDone));
  EXPECT_TRUE(comes_to(second->id, JobState::kDone));
  over = true;
  looking.join();
  EXPECT_EQ(stored(), 0U);
}

}  // namespace
}  // namespace semel::admin
