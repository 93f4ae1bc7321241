// FinishGroup: concurrent finishes of several threads share one commit, and so one sync.
#pragma once

#include <deque>
#include <exception>
#include <span>
#include <vector>

#include <semel/spi/finish.h>

#include "stores/sqlite/writer.h"
#include "system/mutex.h"

namespace semel::sqlite {

// Thread-safe. No caller is delayed to be grouped: while nothing is being written a call writes
// immediately, and calls that come during a write share the next one.
class FinishGroup {
 public:
  // The writer is borrowed.
  FinishGroup(Writer& writer, std::chrono::milliseconds patience)
      : writer_(writer), patience_(patience) {}

  // As Store::finish, for one caller. Throws Failure.
  std::vector<Applied> finish(std::span<const Finish> batch) SEMEL_EXCLUDES(mutex_);

 private:
  struct Job {
    std::span<const Finish> batch;
    std::vector<Applied> applied;
    std::exception_ptr error;
    bool done = false;
  };

  std::vector<Job*> next_group() SEMEL_REQUIRES(mutex_);
  void write(const std::vector<Job*>& group) noexcept;
  void write_together(const std::vector<Job*>& group);

  Writer& writer_;
  const std::chrono::milliseconds patience_;
  system::Mutex mutex_;
  system::CondVar changed_;
  std::deque<Job*> waiting_ SEMEL_GUARDED_BY(mutex_);
  bool writing_ SEMEL_GUARDED_BY(mutex_) = false;
};

}  // namespace semel::sqlite
