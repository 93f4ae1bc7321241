// Calls of an exec handler with real commands, and helpers about processes for tests.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/handler.h>

#include "core/exec_spec.h"
#include "tests/support/waiting.h"

namespace semel::handlers::exec {

// A gate that records its calls.
class NotingGate final : public Gate {
 public:
  void shut(std::chrono::milliseconds time, std::string_view why) noexcept override;
  void open() noexcept override;
  void pause(std::string_view why) noexcept override;
  std::vector<std::string> told() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> told_;
};

// One message, its attempt and its answer; its destructor waits for the answer.
class TestCall {
 public:
  explicit TestCall(Message::Parts parts);
  explicit TestCall(std::string_view payload = "{}", std::string_view key = "k-1");
  ~TestCall();
  TestCall(const TestCall&) = delete;
  TestCall& operator=(const TestCall&) = delete;

  // Change it before the call begins.
  Attempt attempt;
  std::function<void()> on_answer = nullptr;  // on the answering thread, after the answer

  TestCall& begin(const AsyncHandler& handler);
  void stop() { stop_.request_stop(); }
  // nullopt where it was dropped.
  std::optional<Verdict> wait();
  bool answered() const;

 private:
  Message message_;
  std::stop_source stop_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool begun_ = false;
  int answers_ = 0;
  std::optional<Verdict> verdict_;
};

// A spec that runs `script` in a shell, with timeouts that never matter.
core::ExecSpec shell(std::string script);
// Fails the test where the spec is refused.
AsyncHandler handler_of(const core::ExecSpec& spec);
// Runs one message.
Verdict run(const core::ExecSpec& spec, std::string_view payload = "{}");

// False for a process that has ended, collected or not.
bool is_alive(pid_t pid);
// Waits until it is not alive; false where that took too long.
bool ends(pid_t pid);
// Whether this process has a child, running or not collected.
bool has_children();

}  // namespace semel::handlers::exec
