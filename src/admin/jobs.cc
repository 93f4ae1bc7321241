#include "admin/jobs.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <semel/admin/audit.h>

#include "admin/shown.h"
#include "system/utc_clock.h"

namespace semel::admin {

namespace {

constexpr const char* kRunEnds = "the run ended";

}  // namespace

std::string_view to_string(JobState state) noexcept {
  switch (state) {
    case JobState::kCounting:
      return "counting";
    case JobState::kRunning:
      return "running";
    case JobState::kPaused:
      return "paused";
    case JobState::kWaiting:
      return "waiting";
    case JobState::kCancelling:
      return "cancelling";
    case JobState::kDone:
      return "done";
    case JobState::kFailed:
      return "failed";
    case JobState::kCancelled:
      return "cancelled";
  }
  return "";
}

std::string shown_why(const JobView& view, const core::Disclosure& shows) {
  const bool shown = !view.why_is_error || shows.errors == core::Disclosure::Errors::kText;
  return shown || view.why.empty() ? view.why : std::string(kNotShown);
}

std::string outcome_text(const JobView& view, const core::Disclosure& shows) {
  std::string counts = operate::progress_text(view.act, view.progress);
  if (view.state == JobState::kDone) return counts;
  const std::string of =
      view.progress.total ? fmt::format(" of {}", *view.progress.total) : std::string();
  return fmt::format("{}: {}; before it, {}{}", to_string(view.state), shown_why(view, shows),
                     counts, of);
}

Jobs::Jobs(const config::Config& config, WithStore with_store,
           std::chrono::milliseconds between_tries)
    : Jobs([shared = std::shared_ptr<const config::Config>(std::shared_ptr<void>(),
                                                           &config)] { return shared; },
           std::move(with_store), between_tries) {}

Jobs::Jobs(CurrentConfig config, WithStore with_store, std::chrono::milliseconds between_tries,
           Replayed replayed)
    : config_(std::move(config)),
      with_store_(std::move(with_store)),
      between_tries_(between_tries),
      replayed_(std::move(replayed)) {}

Result<JobView> Jobs::begin(operate::LetterWork work, JobView about) {
  work.replayed = replayed_;
  about.act = work.act;
  about.rate = work.rate ? operate::rate_text(*work.rate) : std::string();
  about.began_at = system::utc_now();
  about.state = JobState::kCounting;
  const system::MutexLock lock(mutex_);
  const auto active = static_cast<std::size_t>(
      std::ranges::count_if(jobs_, [](const auto& job) { return !is_over(job->view.state); }));
  if (ending_) return failure({ErrorKind::kUnavailable, "R345", "the run ends", {}});
  if (active == kMostAtOnce) {
    return failure({ErrorKind::kUnavailable, "R345", fmt::format("{} jobs are not over", active),
                    "wait for one, or cancel one: GET /api/v1/jobs"});
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { this->work(); });
  jobs_.push_back(std::make_unique<Job>(std::move(work), about));
  changed_.notify_all();
  return about;
}

Jobs::Job* Jobs::find(std::int64_t id) const {
  const auto found =
      std::ranges::find_if(jobs_, [&](const auto& job) { return job->view.id == id; });
  return found == jobs_.end() ? nullptr : found->get();
}

std::vector<JobView> Jobs::list() const {
  const system::MutexLock lock(mutex_);
  std::vector<JobView> views;
  for (auto at = jobs_.rbegin(); at != jobs_.rend(); ++at) views.push_back((*at)->view);
  return views;
}

std::optional<JobView> Jobs::show(std::int64_t id) const {
  const system::MutexLock lock(mutex_);
  const Job* const job = find(id);
  return job == nullptr ? std::nullopt : std::optional(job->view);
}

std::optional<JobView> Jobs::pause(std::int64_t id) {
  const system::MutexLock lock(mutex_);
  Job* const job = find(id);
  if (job == nullptr) return std::nullopt;
  if (job->view.state < JobState::kCancelling) job->view.state = JobState::kPaused;
  return job->view;
}

std::optional<JobView> Jobs::resume(std::int64_t id) {
  const system::MutexLock lock(mutex_);
  Job* const job = find(id);
  if (job == nullptr) return std::nullopt;
  JobView& view = job->view;
  if (view.state == JobState::kPaused || view.state == JobState::kWaiting) {
    // A pause does not reset the rate limit, but resuming ends a wait for the next try.
    if (view.state == JobState::kWaiting) job->due = Clock::time_point{};
    view.state = view.progress.total ? JobState::kRunning : JobState::kCounting;
    view.why.clear();
    changed_.notify_all();
  }
  return view;
}

std::optional<JobView> Jobs::cancel(std::int64_t id, const std::string& why) {
  const system::MutexLock lock(mutex_);
  Job* const job = find(id);
  if (job == nullptr) return std::nullopt;
  if (job->view.state < JobState::kCancelling) {
    job->view.state = JobState::kCancelling;
    job->view.why = why;
    job->view.why_is_error = false;
    changed_.notify_all();
  }
  return job->view;
}

void Jobs::stop() {
  {
    const system::MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// The job that is due first; jobs to be cancelled go first. During shutdown, any job that is not
// over.
Jobs::Job* Jobs::next() const {
  Job* first = nullptr;
  for (const auto& job : jobs_) {
    if (job->view.state == JobState::kCancelling) return job.get();
    if (is_over(job->view.state)) continue;
    if (ending_) return job.get();
    if (job->view.state == JobState::kPaused) continue;
    if (first == nullptr || job->due < first->due) first = job.get();
  }
  return first;
}

Jobs::Part Jobs::step(operate::LetterJob& job) const {
  Part part;
  try {
    const bool there = with_store_([&](Store& store) {
      const auto config = config_();
      const auto more = job.step({*config, store, store.facets()});
      if (more) {
        part.more = *more;
      } else {
        part.error = more.error();
      }
    });
    if (!there) {
      part.error = Error{ErrorKind::kUnavailable, "R345", "the run has no store now", {}};
    }
  } catch (const std::exception& thrown) {
    part.error = Error{ErrorKind::kRejected, "", thrown.what(), {}};
  }
  return part;
}

// An operator may have paused or cancelled the job meanwhile: that state stays.
void Jobs::note(Job& job, const Part& part) {
  JobView& view = job.view;
  view.progress = job.work.progress();
  // Not before now, so that a job without a rate takes turns with the others.
  job.due = std::max(job.work.due(), Clock::now());
  const bool asked = view.state == JobState::kPaused || view.state == JobState::kCancelling;
  if (part.error) {
    job.due = Clock::now() + between_tries_;
    if (asked) return;
    view.state = JobState::kWaiting;
    view.why = part.error->message;
    view.why_is_error = true;
  } else if (!asked) {
    view.state = view.progress.total ? JobState::kRunning : JobState::kCounting;
    view.why.clear();
    view.why_is_error = false;
  }
}

JobView Jobs::ended(const Job& job, JobState state) {
  JobView view = job.view;
  view.state = state;
  view.ended_at = system::utc_now();
  return view;
}

// If the end cannot be written to the audit log, it counts as unknown.
void Jobs::write_end(const JobView& view) const noexcept {
  try {
    const auto config = config_();
    const std::string outcome =
        outcome_text(view, config->admin ? config->admin->shows : core::Disclosure());
    (void)with_store_([&](Store& store) {
      AuditLog* const log = store.facets().audit;
      if (log == nullptr) return;
      if (!log->end(view.id, outcome)) (void)log->end(view.id, outcome);
    });
  } catch (...) {
  }
}

void Jobs::forget_oldest() {
  const auto over = [](const auto& one) { return is_over(one->view.state); };
  while (static_cast<std::size_t>(std::ranges::count_if(jobs_, over)) > kMostKept) {
    jobs_.erase(std::ranges::find_if(jobs_, over));
  }
}

void Jobs::work() {
  system::RelockableLock lock(mutex_);
  for (;;) {
    Job* const job = next();
    if (job == nullptr && ending_) return;
    if (job == nullptr) {
      changed_.wait(mutex_);
      continue;
    }
    std::optional<JobState> over;
    if (ending_ && job->view.state != JobState::kCancelling) {
      job->view.why = kRunEnds;
      job->view.why_is_error = false;
    }
    if (ending_ || job->view.state == JobState::kCancelling) {
      over = JobState::kCancelled;
    } else if (job->due > Clock::now()) {
      (void)changed_.wait_until(mutex_, job->due);
      continue;
    } else {
      lock.unlock();
      const Part part = step(job->work);
      lock.lock();
      note(*job, part);
      if (part.error && !operate::LetterJob::passes(*part.error)) {
        job->view.why = part.error->message;
        job->view.why_is_error = true;
        over = JobState::kFailed;
      } else if (!part.error && !part.more) {
        over = JobState::kDone;
      }
    }
    if (!over) continue;
    JobView view = ended(*job, *over);
    lock.unlock();
    write_end(view);
    lock.lock();
    job->view = std::move(view);
    forget_oldest();
  }
}

}  // namespace semel::admin
