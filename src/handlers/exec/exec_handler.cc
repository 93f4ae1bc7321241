#include "handlers/exec/exec_handler.h"

#include <fmt/format.h>

#include <csignal>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "handlers/exec/loop.h"
#include "handlers/exec/message_environment.h"
#include "handlers/exec/program.h"

namespace semel::handlers {
namespace {

constexpr std::string_view kUsualPath = "/usr/local/bin:/usr/bin:/bin";

// Owns the loop's thread.
class CommandRunner {
 public:
  explicit CommandRunner(std::shared_ptr<exec::Loop> loop) : loop_(std::move(loop)) {
    // The new thread inherits the mask, so that no signal of the program is delivered to it.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = std::thread([loop = loop_] { loop->run(); });
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ~CommandRunner() {
    loop_->close();
    // The last copy of the handler may be destroyed inside a completion.
    if (std::this_thread::get_id() == thread_.get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }
  CommandRunner(const CommandRunner&) = delete;
  CommandRunner& operator=(const CommandRunner&) = delete;

  exec::Loop& loop() const noexcept { return *loop_; }

 private:
  std::shared_ptr<exec::Loop> loop_;
  std::thread thread_;
};

tl::unexpected<Error> refused(const core::ExecSpec& spec, Error error) {
  error.message = fmt::format("consumer \"{}\": {}", spec.consumer, error.message);
  return failure(std::move(error));
}

// If SIGCHLD is ignored, the kernel collects children by itself and their exit status is lost.
bool children_are_ignored() {
  struct sigaction action {};
  ::sigaction(SIGCHLD, nullptr, &action);
  return (action.sa_flags & SA_NOCLDWAIT) != 0 || action.sa_handler == SIG_IGN;
}

Result<void> check(const core::ExecSpec& spec) {
  const auto rejected = [&](std::string message) {
    return refused(spec, {ErrorKind::kRejected, "R280", std::move(message),
                          "handler: { exec: { command: [program, argument] } }"});
  };
  if (spec.command.empty() || spec.command.front().empty()) {
    return rejected("the exec handler names no program");
  }
  for (const std::string& word : spec.command) {
    if (word.find('\0') != std::string::npos) {
      return rejected("a word of the command has a NUL byte, which cannot be passed to a process");
    }
  }
  if (spec.timeout.count() <= 0 || spec.grace.count() < 0) {
    return rejected("a command needs a timeout, and a grace that is not negative");
  }
  if (children_are_ignored()) {
    return refused(spec, {ErrorKind::kUnavailable, "R281",
                          "the program ignores SIGCHLD: how a command ended would not be known",
                          "std::signal(SIGCHLD, SIG_DFL) before the consumers are started"});
  }
  return {};
}

}  // namespace

Result<AsyncHandler> make_exec_handler(const core::ExecSpec& spec) {
  if (auto checked = check(spec); !checked) return failure(std::move(checked.error()));
  exec::Plan plan{spec, {}, exec::own_environment()};
  const std::string_view path = exec::value_in(plan.environment, "PATH");
  auto program = exec::find_program(spec.command.front(), path.empty() ? kUsualPath : path);
  if (!program) return refused(spec, std::move(program.error()));
  plan.program = *std::move(program);
  auto loop = exec::Loop::make(std::move(plan));
  if (!loop) return refused(spec, std::move(loop.error()));
  try {
    auto runner = std::make_shared<CommandRunner>(*std::move(loop));
    return AsyncHandler([runner = std::move(runner)](const Message& message, const Attempt& attempt,
                                                     Completion completion) {
      runner->loop().begin(message, attempt, std::move(completion));
    });
  } catch (const std::system_error& error) {
    return refused(spec, {ErrorKind::kUnavailable, "R281",
                          fmt::format("no thread can be made to run commands: {}", error.what()),
                          "raise the limit of processes (ulimit -u)"});
  }
}

std::chrono::milliseconds longest_exec_end(const core::ExecSpec& spec) noexcept {
  // Time for the kernel, and for a busy machine.
  constexpr std::chrono::milliseconds kSlack{1000};
  return spec.grace + exec::kOutputGrace + kSlack;
}

std::chrono::milliseconds longest_exec_call(const core::ExecSpec& spec) noexcept {
  return spec.timeout + longest_exec_end(spec);
}

}  // namespace semel::handlers
