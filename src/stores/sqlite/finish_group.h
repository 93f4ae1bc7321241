// FinishGroup: what several threads finish at a time goes into one commit, and so into one sync.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <vector>

#include <semel/finish.h>

#include "stores/sqlite/writer.h"

namespace semel::sqlite {

// Safe for several threads. Nobody waits for company: who comes while nothing is written goes at
// once, and who comes meanwhile goes with the next.
class FinishGroup {
 public:
  // The writer is borrowed.
  FinishGroup(Writer& writer, std::chrono::milliseconds patience)
      : writer_(writer), patience_(patience) {}

  // As Store::finish, of one caller. Throws Failure.
  std::vector<Applied> finish(std::span<const Finish> batch);

 private:
  struct Job {
    std::span<const Finish> batch;
    std::vector<Applied> applied;
    std::exception_ptr error;
    bool done = false;
  };

  std::vector<Job*> next_group();
  void write(const std::vector<Job*>& group) noexcept;
  void write_together(const std::vector<Job*>& group);

  Writer& writer_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job*> waiting_;
  bool writing_ = false;
};

}  // namespace semel::sqlite
