// Loop: one thread that runs all commands of a handler.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <semel/handler.h>
#include <semel/result.h>

#include "core/exec_spec.h"
#include "handlers/in_flight/in_flight_calls.h"
#include "system/descriptor.h"

namespace semel::handlers::exec {

// How long to wait for the output of a command that has ended, if a process that it started still
// holds the pipe.
inline constexpr std::chrono::milliseconds kOutputGrace{250};

// The same for all messages.
struct Plan {
  core::ExecSpec spec;
  std::string program;                   // the file that spec.command[0] names
  std::vector<std::string> environment;  // inherited by commands
};

class Loop {
 public:
  using Clock = std::chrono::steady_clock;

  // kUnavailable where the system lacks what it needs.
  static Result<std::shared_ptr<Loop>> make(Plan plan);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Thread-safe.
  void begin(const Message& message, const Attempt& attempt, Completion completion);
  // Thread-safe: kills running commands, answers everything, then `run` returns.
  void close() noexcept;

  // The thread's function: all signals must be blocked, and the thread must live as long as a
  // command runs, because the kernel kills commands when the thread that started them ends.
  void run();

 private:
  using Ticket = InFlightCall::Ticket;
  struct Call;

  explicit Loop(Plan plan);

  void wake() const noexcept;
  void wait_for_events();
  int patience() const;

  void start_some();
  // False where the system has no room for it now, but may have later.
  bool start(Call& call);

  void stop(Call& call);
  void end_now(Call& call);
  void heed_times();
  void tell_to_end(Call& call, bool timeout);
  void kill(Call& call);
  void service(Call& call);
  // `next`: when its phase must act.
  void set_next(Call& call, Clock::time_point next);

  void answer(Call& call, Verdict verdict);
  void answer_ended(Call& call);

  const Plan plan_;
  system::Descriptor epoll_;
  system::Descriptor wake_;

  InFlightCalls<Call> calls_{[this] { wake(); }};

  // Used by the thread only.
  std::deque<Ticket> waiting_;       // to be started; may name calls that were answered
  Clock::time_point start_again_{};  // not before, after a shortage
  std::size_t running_ = 0;
};

}  // namespace semel::handlers::exec
