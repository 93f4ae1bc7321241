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
  void begin(const Message& message, const Attempt& attempt, Completion completion);
  // Any thread: kills what runs, answers everything, then `run` returns.
  void close() noexcept;

  // The thread: all signals blocked, and alive for as long as a command runs, because the kernel
  // kills commands when the thread that started them ends.
  void run();

 private:
  using Ticket = InFlightCall::Ticket;
  struct Call;

  explicit Loop(Plan plan);

  void wake() const noexcept;
  void wait_for_events();
  int patience() const;

  void start_some();
  // False where the system has no room for it now, and may have later.
  bool start(Call& call);

  void stop(Call& call);
  void end_now(Call& call);
  void heed_times();
  void tell_to_end(Call& call, bool timeout);
  void kill(Call& call);
  void service(Call& call);
  // `next` is when its phase asks for something.
  void set_next(Call& call, Clock::time_point next);

  void answer(Call& call, Verdict verdict);
  void answer_ended(Call& call);

  const Plan plan_;
  system::Descriptor epoll_;
  system::Descriptor wake_;

  InFlightCalls<Call> calls_{[this] { wake(); }};

  // The thread's.
  std::deque<Ticket> waiting_;       // for their start; may name calls that were answered
  Clock::time_point start_again_{};  // not before, after a shortage
  std::size_t running_ = 0;
};

}  // namespace semel::handlers::exec
