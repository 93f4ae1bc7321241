#include "handlers/exec/loop.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "handlers/exec/message_environment.h"
#include "handlers/exec/process.h"
#include "handlers/exec/spawn.h"
#include "handlers/exec/verdict_of.h"

namespace semel::handlers::exec {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kWakeId = 0;
constexpr int kEventsEachTurn = 64;
// A start blocks the thread in the kernel, so running commands are served between starts.
constexpr int kStartsEachTurn = 8;
constexpr milliseconds kShortage{50};
// Used where the kernel provides no descriptor to wait for a command.
constexpr milliseconds kLookAgain{10};
// How long no message is begun after a command could not be started.
constexpr milliseconds kGateShut{5000};
constexpr Loop::Clock::time_point kNever = Loop::Clock::time_point::max();

// execve takes non-const pointers, but does not write to them.
void append_pointers(std::vector<char*>& pointers, const std::vector<std::string>& words) {
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
}

}  // namespace

struct Loop::Call final : InFlightCall {
  using InFlightCall::InFlightCall;
  enum class Phase {
    kWaiting,  // for its start
    kRunning,
    kTold,  // asked to end
    kKilled,
    kFinished,  // the command has ended; the rest of its output is awaited
  };

  Phase phase = Phase::kWaiting;
  ProcessEnd::Why why = ProcessEnd::Why::kItself;
  Clock::time_point next = kNever;  // when its phase must act
  bool unwatched = false;           // no event reports its end: it is polled now and then
  std::optional<Process> process;
  std::optional<ExitStatus> status;
};

Result<std::shared_ptr<Loop>> Loop::make(Plan plan) {
  const auto lacking = [](int problem) {
    return failure({ErrorKind::kUnavailable, "R281",
                    "no command can be run: " + std::generic_category().message(problem),
                    "raise the limit of open files (ulimit -n)"});
  };
  std::shared_ptr<Loop> made(new Loop(std::move(plan)));
  made->epoll_ = system::Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!made->epoll_.valid()) return lacking(errno);
  made->wake_ = system::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!made->wake_.valid()) return lacking(errno);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeId;
  if (::epoll_ctl(made->epoll_.get(), EPOLL_CTL_ADD, made->wake_.get(), &event) != 0) {
    return lacking(errno);
  }
  return made;
}

Loop::Loop(Plan plan) : plan_(std::move(plan)) {}
Loop::~Loop() = default;

void Loop::begin(const Message& message, const Attempt& attempt, Completion completion) {
  auto call = std::make_unique<Call>(message, attempt, std::move(completion), Clock::now());
  const auto deadline = call->next = call->begun + plan_.spec.timeout;
  calls_.begin(std::move(call), deadline);
  wake();
}

void Loop::close() noexcept {
  calls_.close();
  wake();
}

void Loop::wake() const noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = ::write(wake_.get(), &one, sizeof one);
}

void Loop::run() {
  for (;;) {
    const auto news = calls_.take_news();
    waiting_.insert(waiting_.end(), news.begun.begin(), news.begun.end());
    for (const Ticket ticket : news.stopped) {
      if (Call* const call = calls_.find(ticket)) stop(*call);
    }
    if (news.closing) {
      for (Call* const call : calls_.all()) end_now(*call);
    }
    heed_times();
    start_some();
    if (news.closing && calls_.empty()) return;
    wait_for_events();
  }
}

int Loop::patience() const {
  auto until = calls_.next_deadline();
  if (!waiting_.empty()) until = std::min(until, start_again_);
  if (until == kNever) return -1;
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
  return static_cast<int>(
      std::clamp<std::int64_t>(left, 0, std::numeric_limits<std::int32_t>::max()));
}

void Loop::wait_for_events() {
  std::array<epoll_event, kEventsEachTurn> events;
  const int n = ::epoll_wait(epoll_.get(), events.data(), kEventsEachTurn, patience());
  for (int i = 0; i < n; ++i) {
    const Ticket ticket = events[static_cast<std::size_t>(i)].data.u64;
    if (ticket == kWakeId) {
      std::uint64_t count = 0;
      [[maybe_unused]] const auto read = ::read(wake_.get(), &count, sizeof count);
    } else if (Call* const call = calls_.find(ticket)) {
      service(*call);
    }
  }
}

void Loop::start_some() {
  for (int i = 0; i < kStartsEachTurn && !waiting_.empty(); ++i) {
    if (start_again_ > Clock::now()) return;
    Call* const call = calls_.find(waiting_.front());
    if (call != nullptr && !start(*call)) {
      start_again_ = Clock::now() + kShortage;
      return;
    }
    waiting_.pop_front();
  }
}

bool Loop::start(Call& call) {
  const auto ours = message_environment(plan_.spec, call.message, call.attempt);
  std::vector<char*> environment;
  append_pointers(environment, plan_.environment);
  append_pointers(environment, ours);
  environment.push_back(nullptr);
  std::vector<char*> arguments;
  append_pointers(arguments, plan_.spec.command);
  arguments.push_back(nullptr);
  auto spawned = spawn({plan_.program.c_str(), arguments.data(), environment.data()});
  if (!spawned) {
    if (is_shortage(spawned.error()) && running_ > 0) return false;
    Verdict verdict = not_started(plan_.program, spawned.error());
    // If the message is at fault, it becomes a dead letter; otherwise the command is at fault.
    if (verdict.kind() == Verdict::Kind::kRetry && call.attempt.gate != nullptr) {
      call.attempt.gate->shut(kGateShut, verdict.reason());
    }
    answer(call, std::move(verdict));
    return true;
  }
  ++running_;
  call.phase = Call::Phase::kRunning;
  call.process.emplace(*std::move(spawned), call.message.payload(), plan_.spec.result_limit);
  if (call.attempt.gate != nullptr) call.attempt.gate->open();
  call.unwatched = !call.process->watch(epoll_.get(), call.ticket());
  if (call.unwatched) set_next(call, call.next);
  return true;
}

void Loop::set_next(Call& call, Clock::time_point next) {
  call.next = next;
  const auto look = call.unwatched ? Clock::now() + kLookAgain : kNever;
  calls_.set_deadline(call, std::min(next, look));
}

void Loop::stop(Call& call) {
  if (call.phase == Call::Phase::kWaiting) {
    answer(call, no_room("stopped before the command was started"));
  } else if (call.phase == Call::Phase::kRunning) {
    tell_to_end(call, false);
  }
}

// Stops the call as stop() does, without waiting for a command that was asked to end.
void Loop::end_now(Call& call) {
  const Ticket ticket = call.ticket();
  stop(call);
  Call* const left = calls_.find(ticket);
  if (left != nullptr && left->phase == Call::Phase::kTold) kill(*left);
}

void Loop::heed_times() {
  const auto now = Clock::now();
  for (const Ticket ticket : calls_.take_late(now)) {
    Call* call = calls_.find(ticket);
    if (call->unwatched) {
      service(*call);
      call = calls_.find(ticket);
      if (call == nullptr) continue;
    }
    if (call->next > now) {
      set_next(*call, call->next);
      continue;
    }
    switch (call->phase) {
      case Call::Phase::kWaiting:
        answer(*call, no_room("the system had no room for another process within its time limit"));
        break;
      case Call::Phase::kRunning:
        tell_to_end(*call, true);
        break;
      case Call::Phase::kTold:
        kill(*call);
        break;
      case Call::Phase::kKilled:
        break;
      case Call::Phase::kFinished:
        answer_ended(*call);
        break;
    }
  }
}

// A command that has ended by itself, but whose end was not noticed yet, is not signalled: its own
// result counts.
void Loop::tell_to_end(Call& call, bool timeout) {
  if (call.process->ended()) return service(call);
  call.why = timeout ? ProcessEnd::Why::kTimeout : ProcessEnd::Why::kStopped;
  call.phase = Call::Phase::kTold;
  set_next(call, Clock::now() + plan_.spec.grace);
  call.process->signal_group(SIGTERM);
}

void Loop::kill(Call& call) {
  call.phase = Call::Phase::kKilled;
  set_next(call, kNever);
  call.process->signal_group(SIGKILL);
}

void Loop::service(Call& call) {
  if (!call.process) return;
  // Check the end before reading the output: then everything that the command wrote is there.
  if (!call.status && (call.status = call.process->ended())) {
    call.phase = Call::Phase::kFinished;
    set_next(call, Clock::now() + kOutputGrace);
    call.process->end_input();
  }
  call.process->move_data();
  if (call.status && call.process->silent()) answer_ended(call);
}

void Loop::answer_ended(Call& call) {
  ProcessEnd end;
  end.why = call.why;
  end.status = call.status.value_or(ExitStatus{});
  end.output = call.process->take_output();
  end.output_size = call.process->output_size();
  end.last_error_text = call.process->last_error_output();
  answer(call, verdict_of(plan_.spec, std::move(end)));
}

void Loop::answer(Call& call, Verdict verdict) {
  auto taken = calls_.take(call.ticket());
  if (taken->process) {
    taken->process.reset();
    --running_;
    start_again_ = {};
  }
  try {
    calls_.answer(std::move(taken), std::move(verdict));
  } catch (...) {
    // The completion failed, and there is no one else to inform.
    return;
  }
}

}  // namespace semel::handlers::exec
