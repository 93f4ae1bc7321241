#include "stores/sqlite/finish_group.h"

#include <semel/spi/failpoints.h>

#include "stores/sqlite/failure.h"

namespace semel::sqlite {
namespace {

// Others wait for the end of a transaction.
constexpr std::size_t kMostTogether = 1'000;

// Errors of the transaction, not of one caller's part in it.
bool is_everyones(const Error& error) {
  return error.kind == ErrorKind::kBlocked || error.kind == ErrorKind::kInDoubt ||
         error.kind == ErrorKind::kUnavailable;
}

}  // namespace

std::vector<Applied> FinishGroup::finish(std::span<const Finish> batch) {
  Job job;
  job.batch = batch;
  system::RelockableLock lock(mutex_);
  waiting_.push_back(&job);
  changed_.wait(mutex_, [&]() SEMEL_REQUIRES(mutex_) { return job.done || !writing_; });
  while (!job.done) {
    writing_ = true;
    const std::vector<Job*> group = next_group();
    lock.unlock();
    write(group);
    lock.lock();
    for (Job* const one : group) one->done = true;
    writing_ = false;
    // One of the callers that came meanwhile writes next.
    changed_.notify_all();
  }
  if (job.error) std::rethrow_exception(job.error);
  return std::move(job.applied);
}

std::vector<FinishGroup::Job*> FinishGroup::next_group() {
  std::vector<Job*> group;
  std::size_t finishes = 0;
  while (!waiting_.empty() && (group.empty() || finishes < kMostTogether)) {
    group.push_back(waiting_.front());
    finishes += waiting_.front()->batch.size();
    waiting_.pop_front();
  }
  return group;
}

void FinishGroup::write(const std::vector<Job*>& group) noexcept {
  const auto fail_all = [&] {
    for (Job* const job : group) job->error = std::current_exception();
  };
  try {
    write_together(group);
    return;
  } catch (const Failure& failed) {
    if (group.size() == 1 || is_everyones(failed.error())) return fail_all();
  } catch (...) {
    return fail_all();
  }
  // One of them is refused: write each by itself, so that the others are not affected.
  for (Job* const job : group) write({job});
}

void FinishGroup::write_together(const std::vector<Job*>& group) {
  WriteTransaction transaction(writer_, Sync::kPowerLoss, patience_);
  const StoreTime now = transaction.now();
  for (Job* const job : group) job->applied = writer_.finish_writer().apply(job->batch, now);
  failpoint::hit(writer_.environment(), failpoint::kFinished);
  failpoint::hit(writer_.environment(), failpoint::kCommitBefore);
  transaction.commit();
  failpoint::hit(writer_.environment(), failpoint::kCommitAfter);
}

}  // namespace semel::sqlite
