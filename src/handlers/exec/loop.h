// Loop: one thread that runs all commands of a handler.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <semel/handler.h>
#include <semel/result.h>

#include "core/exec_spec.h"
#include "system/descriptor.h"
#include "system/mutex.h"

namespace semel::handlers::exec {

// How long the output of a command that has ended is waited for, where a process that it started
// still holds the pipe.
inline constexpr std::chrono::milliseconds kOutputGrace{250};

// What is the same for all messages.
struct Plan {
  core::ExecSpec spec;
  std::string program;                   // the file that spec.command[0] names
  std::vector<std::string> environment;  // inherited by commands
};

class Loop {
 public:
  using Clock = std::chrono::steady_clock;

  // kUnavailable where the system does not give what it needs.
  static Result<std::shared_ptr<Loop>> make(Plan plan);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Any thread.
  void begin(const Message& message, const Attempt& attempt, Completion completion)
      SEMEL_EXCLUDES(mutex_);
  // Any thread: kills what runs, answers everything, then `run` returns.
  void close() noexcept;

  // The thread: all signals blocked, and alive for as long as a command runs, because the kernel
  // kills commands when the thread that started them ends.
  void run() SEMEL_EXCLUDES(mutex_);

 private:
  struct Call;
  using Calls = std::unordered_map<std::uint64_t, std::unique_ptr<Call>>;

  explicit Loop(Plan plan);

  void wake() const noexcept;
  void take_incoming() SEMEL_EXCLUDES(mutex_);
  void wait_for_events();
  int patience() const;

  void start_some();
  // False where the system has no room for it now, and may have later.
  bool start(Call& call);

  void heed_stops();
  void heed_times();
  void tell_to_end(Call& call, bool timeout);
  void kill(Call& call) noexcept;
  void service(Call& call);

  void answer(Call& call, Verdict verdict);
  void answer_ended(Call& call);

  const Plan plan_;
  system::Descriptor epoll_;
  system::Descriptor wake_;

  system::Mutex mutex_;
  std::vector<std::unique_ptr<Call>> incoming_ SEMEL_GUARDED_BY(mutex_);
  std::atomic<bool> closing_{false};
  std::atomic<bool> some_stopped_{false};

  // Below: of the thread alone.
  Calls calls_;
  std::deque<std::uint64_t> waiting_;  // for their start; may name calls that were answered
  Clock::time_point start_again_{};    // not before, after a shortage
  std::size_t running_ = 0;
  std::uint64_t last_id_ = 0;
};

}  // namespace semel::handlers::exec
