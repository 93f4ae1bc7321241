// Calls of an exec handler with real commands, and what a test asks about processes.
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

// A gate that notes what it was told.
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

// One message, its attempt and its answer; waits for the answer before it goes.
class TestCall {
 public:
  explicit TestCall(Message::Parts parts);
  explicit TestCall(std::string_view payload = "{}", std::string_view key = "k-1");
  ~TestCall();
  TestCall(const TestCall&) = delete;
  TestCall& operator=(const TestCall&) = delete;

  // To be changed before it begins.
  Attempt attempt;
  std::function<void()> on_answer = nullptr;  // on the thread that answers, when it did

  TestCall& begin(const AsyncHandler& handler);
  void stop() { stop_.request_stop(); }
  // None where it was dropped.
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

// A spec that runs `script` in a shell, with times that never matter.
core::ExecSpec shell(std::string script);
// Fails the test where the spec is refused.
AsyncHandler handler_of(const core::ExecSpec& spec);
// Runs one message.
Verdict run(const core::ExecSpec& spec, std::string_view payload = "{}");

// False of what has ended, collected or not.
bool is_alive(pid_t pid);
// Waits until it is not; false where it took too long.
bool ends(pid_t pid);
// This process has a child, running or not collected.
bool has_children();

}  // namespace semel::handlers::exec
