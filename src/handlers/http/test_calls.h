// Shared by the tests of the HTTP handler: calls that can be awaited, and a gate that records its
// calls.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <semel/environment.h>

#include "handlers/http/http_handler.h"
#include "tests/support/builders.h"
#include "tests/support/http_server.h"
#include "tests/support/set_variable.h"

namespace semel::handlers {

class RecordingGate final : public Gate {
 public:
  void shut(std::chrono::milliseconds time, std::string_view why) noexcept override {
    add("shut " + std::to_string(time.count()) + " " + std::string(why));
  }
  void open() noexcept override { add("open"); }
  void pause(std::string_view why) noexcept override { add("pause " + std::string(why)); }
  std::vector<std::string> told() const {
    std::lock_guard lock(mutex_);
    return told_;
  }

 private:
  void add(std::string what) {
    std::lock_guard lock(mutex_);
    told_.push_back(std::move(what));
  }
  mutable std::mutex mutex_;
  std::vector<std::string> told_;
};

// One call, with everything that it borrows.
struct Call {
  explicit Call(Message m) : message(std::move(m)) {}
  Message message;
  std::stop_source stop;
  Attempt attempt;
  std::promise<std::optional<Verdict>> promise;
  std::future<std::optional<Verdict>> future = promise.get_future();

  bool over(std::chrono::milliseconds patience = std::chrono::milliseconds(0)) const {
    return future.wait_for(patience) == std::future_status::ready;
  }
  // The answer; fails the test where none came.
  Verdict verdict() {
    if (!over(std::chrono::seconds(30))) {
      ADD_FAILURE() << "the call does not end";
      return done();
    }
    auto told = future.get();
    EXPECT_TRUE(told) << "the completion was dropped";
    return told.value_or(done());
  }
};

class HttpCalls : public testing::Test {
 protected:
  HttpCalls() {
    spec_.consumer = "emails";
    spec_.source = "queue";
    spec_.timeout = std::chrono::seconds(20);
    spec_.response_limit = 1 << 20;
  }

  // Makes it again from spec_, at its next use.
  void forget_handler() { handler_ = nullptr; }
  AsyncHandler& handler() {
    if (!handler_) {
      auto made = make_http_handler(spec_, system_environment());
      EXPECT_TRUE(made) << made.error().message;
      if (made) handler_ = *std::move(made);
    }
    return handler_;
  }
  std::unique_ptr<Call> begin(Message message, int attempt = 1) {
    auto call = std::make_unique<Call>(std::move(message));
    call->attempt.stop = call->stop.get_token();
    call->attempt.gate = &gate_;
    call->attempt.position = "17";
    call->attempt.number = attempt;
    handler()(call->message, call->attempt, Completion([raw = call.get()](auto verdict) {
                raw->promise.set_value(std::move(verdict));
              }));
    return call;
  }
  std::unique_ptr<Call> begin(std::string_view key = "k-1", std::string_view payload = "{}") {
    return begin(test::make_message(ConsumerNumber{1}, key, payload));
  }
  Verdict call(std::string_view key = "k-1", std::string_view payload = "{}", int attempt = 1) {
    return begin(test::make_message(ConsumerNumber{1}, key, payload), attempt)->verdict();
  }
  // Calls a path of its own, where the server answers everything with `reply`.
  Verdict call_answered(test::HttpReply reply) {
    const std::string path = "/answer-" + std::to_string(++paths_);
    server_.on(path, std::move(reply));
    spec_.url = server_.url(path);
    forget_handler();
    return call();
  }

  const test::SetVariable no_proxy_{"no_proxy", "127.0.0.1"};
  test::HttpServer server_;
  core::HttpSpec spec_;
  RecordingGate gate_;

 private:
  AsyncHandler handler_;
  int paths_ = 0;
};

}  // namespace semel::handlers
