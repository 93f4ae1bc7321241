// Jobs: bulk work that people began through the API. One thread does all of it, part by part, each
// job at its rate. Jobs live as long as the run: their results are in the store, and their entries
// in the audit log.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <semel/result.h>
#include <semel/spi/store.h>

#include "base/iso_time.h"
#include "config/config.h"
#include "core/disclosure.h"
#include "operate/letter_job.h"
#include "system/mutex.h"

namespace semel::admin {

enum class JobState {
  kCounting,    // determines how much there is to do
  kRunning,     //
  kPaused,      // until it is resumed
  kWaiting,     // the store is unavailable: retried automatically
  kCancelling,  // asked to end; the present part may still be done
  // The job is over:
  kDone,
  kFailed,
  kCancelled
};
std::string_view to_string(JobState state) noexcept;
constexpr bool is_over(JobState state) noexcept { return state >= JobState::kDone; }

struct JobView {
  std::int64_t id = 0;  // of its entry in the audit log
  operate::LetterAct act = operate::LetterAct::kReplay;
  std::string selection;  // what it is applied to, in words
  std::string rate;       // empty: unlimited
  std::string reason;     // the person's words
  std::string began_by;   // the name of a token
  UtcTime began_at;
  std::optional<UtcTime> ended_at;
  JobState state = JobState::kCounting;
  std::string why;            // of a wait, a failure or a cancellation
  bool why_is_error = false;  // it is the store's error, which may quote a message
  operate::LetterProgress progress;
};

// Thread-safe.
class Jobs {
 public:
  // The most unfinished jobs; of finished ones the oldest are forgotten.
  static constexpr std::size_t kMostAtOnce = 8;
  static constexpr std::size_t kMostKept = 50;
  static constexpr std::chrono::milliseconds kBetweenTries{1'000};

  // Calls its argument with the store; false: the run has none now.
  using WithStore = std::function<bool(const std::function<void(Store&)>&)>;

  // Each part of a job uses the newest config.
  using CurrentConfig = std::function<std::shared_ptr<const config::Config>()>;
  // `replayed`: see LetterWork; called by the thread of the jobs.
  using Replayed = decltype(operate::LetterWork::replayed);
  Jobs(CurrentConfig config, WithStore with_store,
       std::chrono::milliseconds between_tries = kBetweenTries, Replayed replayed = {});
  // Borrows the config.
  Jobs(const config::Config& config, WithStore with_store,
       std::chrono::milliseconds between_tries = kBetweenTries);
  ~Jobs() { stop(); }
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  // Takes the id, the person's words and the selection from `about`. R345: there are too many, or
  // the run ends. Throws std::system_error where a thread cannot be started.
  Result<JobView> begin(operate::LetterWork work, JobView about) SEMEL_EXCLUDES(mutex_);

  // The newest first.
  std::vector<JobView> list() const SEMEL_EXCLUDES(mutex_);
  std::optional<JobView> show(std::int64_t id) const SEMEL_EXCLUDES(mutex_);

  // Each returns the job's new state; nullopt where there is none. A finished job is unchanged. The
  // present part is completed.
  std::optional<JobView> pause(std::int64_t id) SEMEL_EXCLUDES(mutex_);
  // Also one that waits for the store: it is retried immediately.
  std::optional<JobView> resume(std::int64_t id) SEMEL_EXCLUDES(mutex_);
  std::optional<JobView> cancel(std::int64_t id, const std::string& why) SEMEL_EXCLUDES(mutex_);

  // Completes the present part, and cancels all unfinished jobs. Needs the store, for their entries
  // in the audit log. No job can begin after it. Not thread-safe.
  void stop() SEMEL_EXCLUDES(mutex_);

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    Job(operate::LetterWork what, JobView about) : work(std::move(what)), view(std::move(about)) {}
    operate::LetterJob work;  // used by the thread only
    JobView view;
    Clock::time_point due{};
  };
  // How a part ended.
  struct Part {
    bool more = false;
    std::optional<Error> error;
  };

  void work() SEMEL_EXCLUDES(mutex_);
  Job* find(std::int64_t id) const SEMEL_REQUIRES(mutex_);
  Job* next() const SEMEL_REQUIRES(mutex_);
  Part step(operate::LetterJob& job) const;
  void note(Job& job, const Part& part) SEMEL_REQUIRES(mutex_);
  static JobView ended(const Job& job, JobState state);
  void write_end(const JobView& view) const noexcept;
  void forget_oldest() SEMEL_REQUIRES(mutex_);

  const CurrentConfig config_;
  const WithStore with_store_;
  const std::chrono::milliseconds between_tries_;
  const Replayed replayed_;
  mutable system::Mutex mutex_;
  system::CondVar changed_;
  std::list<std::unique_ptr<Job>> jobs_ SEMEL_GUARDED_BY(mutex_);  // oldest first
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// The end of a job in a few words, for the audit log.
std::string outcome_text(const JobView& view, const core::Disclosure& shows);
// Why it waits or has ended, as far as it may be shown.
std::string shown_why(const JobView& view, const core::Disclosure& shows);

}  // namespace semel::admin
