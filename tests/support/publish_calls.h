// Calls of an asynchronous handler that are begun and waited for, and a gate that remembers what it
// was told.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <semel/handler.h>

#include "tests/support/builders.h"

namespace semel::test {

class ToldGate final : public Gate {
 public:
  void shut(std::chrono::milliseconds, std::string_view why) noexcept override {
    add("shut " + std::string(why));
  }
  void open() noexcept override { add("open"); }
  void pause(std::string_view why) noexcept override { add("pause " + std::string(why)); }
  // Without those that say it is open.
  std::vector<std::string> shuts() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> made;
    for (const std::string& told : told_) {
      if (told != "open") made.push_back(told);
    }
    return made;
  }

 private:
  void add(std::string what) {
    const std::scoped_lock lock(mutex_);
    told_.push_back(std::move(what));
  }
  mutable std::mutex mutex_;
  std::vector<std::string> told_;
};

// One call, with all that it borrows.
struct PublishCall {
  explicit PublishCall(Message m) : message(std::move(m)) {}
  Message message;
  std::stop_source stop;
  Attempt attempt;
  std::promise<std::optional<Verdict>> promise;
  std::future<std::optional<Verdict>> future = promise.get_future();

  // What was answered, or nothing where the completion was dropped. Fails the test where no answer
  // comes.
  std::optional<Verdict> answer() {
    if (future.wait_for(std::chrono::seconds(60)) != std::future_status::ready) {
      ADD_FAILURE() << "the call does not end";
      return std::nullopt;
    }
    return future.get();
  }
  Verdict verdict() { return answer().value_or(retry("dropped")); }
};

inline std::unique_ptr<PublishCall> publish(AsyncHandler& handler, Gate& gate, Message message) {
  auto call = std::make_unique<PublishCall>(std::move(message));
  call->attempt.stop = call->stop.get_token();
  call->attempt.gate = &gate;
  handler(call->message, call->attempt, Completion([raw = call.get()](auto verdict) {
            raw->promise.set_value(std::move(verdict));
          }));
  return call;
}

inline Message keyed_message(std::string_view key, std::string_view payload = "{}",
                             Headers headers = {}, std::string_view ordering_key = {}) {
  auto parts = make_parts(ConsumerNumber{1}, key, payload);
  parts.headers = std::move(headers);
  if (!ordering_key.empty()) parts.ordering_key = ordering_key;
  return Message(std::move(parts));
}

}  // namespace semel::test
