#include "handlers/exec/test_calls.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <fstream>
#include <thread>
#include <utility>

#include "handlers/exec/exec_handler.h"

namespace semel::handlers::exec {

namespace {

constexpr std::chrono::seconds kPatience{60};

Message::Parts parts_of(std::string_view payload, std::string_view key) {
  Message::Parts parts;
  parts.key.text = key;
  parts.payload = payload;
  return parts;
}

}  // namespace

void NotingGate::shut(std::chrono::milliseconds time, std::string_view why) noexcept {
  const std::lock_guard lock(mutex_);
  told_.push_back(fmt::format("shut {}", time.count() > 0 ? why : "for no time"));
}
void NotingGate::open() noexcept {
  const std::lock_guard lock(mutex_);
  told_.emplace_back("open");
}
void NotingGate::pause(std::string_view why) noexcept {
  const std::lock_guard lock(mutex_);
  told_.push_back(fmt::format("pause {}", why));
}
std::vector<std::string> NotingGate::told() const {
  const std::lock_guard lock(mutex_);
  return told_;
}

TestCall::TestCall(Message::Parts parts) : message_(std::move(parts)) {
  attempt.stop = stop_.get_token();
}
TestCall::TestCall(std::string_view payload, std::string_view key)
    : TestCall(parts_of(payload, key)) {}

TestCall::~TestCall() {
  if (begun_) (void)wait();
}

TestCall& TestCall::begin(const AsyncHandler& handler) {
  begun_ = true;
  handler(message_, attempt, Completion([this](std::optional<Verdict> verdict) {
            const auto after = std::exchange(on_answer, nullptr);
            if (after) after();
            const std::lock_guard lock(mutex_);
            ++answers_;
            verdict_ = std::move(verdict);
            changed_.notify_all();
          }));
  return *this;
}

std::optional<Verdict> TestCall::wait() {
  std::unique_lock lock(mutex_);
  EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] { return answers_ > 0; })) << "no answer";
  EXPECT_LE(answers_, 1);
  return verdict_;
}

bool TestCall::answered() const {
  const std::lock_guard lock(mutex_);
  return answers_ > 0;
}

core::ExecSpec shell(std::string script) {
  core::ExecSpec spec;
  spec.command = {"/bin/sh", "-c", std::move(script)};
  spec.timeout = std::chrono::minutes(5);
  spec.grace = std::chrono::minutes(5);
  spec.result_limit = 1 << 20;
  spec.consumer = "thumbs";
  spec.source = "queue";
  return spec;
}

AsyncHandler handler_of(const core::ExecSpec& spec) {
  auto made = make_exec_handler(spec);
  if (!made) {
    ADD_FAILURE() << made.error().message;
    std::abort();
  }
  return *std::move(made);
}

Verdict run(const core::ExecSpec& spec, std::string_view payload) {
  const auto handler = handler_of(spec);
  TestCall call(payload);
  auto verdict = call.begin(handler).wait();
  EXPECT_TRUE(verdict) << "dropped";
  return verdict.value_or(dead("dropped"));
}

bool is_alive(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line)) return false;
  const char state = line.at(line.rfind(')') + 2);
  return state != 'Z' && state != 'X';
}

bool ends(pid_t pid) {
  return test::comes_true([&] { return !is_alive(pid); });
}

bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

}  // namespace semel::handlers::exec
