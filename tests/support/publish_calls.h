// Starts calls of an asynchronous handler and waits for them; has a gate that records its calls.
#pragma once

#include <fmt/format.h>
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
  // The calls without those that open the gate.
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

// One call, with all the data that it borrows.
struct PublishCall {
  explicit PublishCall(Message m) : message(std::move(m)) {}
  Message message;
  std::stop_source stop;
  Attempt attempt;
  std::promise<std::optional<Verdict>> promise;
  std::future<std::optional<Verdict>> future = promise.get_future();

  // The answer, or nothing if the completion was dropped. Fails the test if no answer arrives.
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

// Until all are done; each try that failed cost no attempt.
inline void publish_surely(AsyncHandler& handler, Gate& gate, std::vector<std::string> keys) {
  std::string said;
  for (int i = 0; i < 200 && !keys.empty(); ++i) {
    std::vector<std::unique_ptr<PublishCall>> calls;
    for (const std::string& key : keys) calls.push_back(publish(handler, gate, keyed_message(key)));
    std::vector<std::string> again;
    for (std::size_t at = 0; at < calls.size(); ++at) {
      const Verdict verdict = calls[at]->verdict();
      if (verdict.kind() == Verdict::Kind::kDone) continue;
      ASSERT_EQ(verdict.kind(), Verdict::Kind::kRetry) << verdict.reason();
      ASSERT_FALSE(verdict.counted()) << verdict.reason();
      said = verdict.reason();
      again.push_back(keys[at]);
    }
    keys = std::move(again);
  }
  EXPECT_TRUE(keys.empty()) << keys.size() << " are never published: " << said;
}

struct Interrupted {
  std::size_t sent = 0;            // how many keys there are: k-0, k-1 …
  std::vector<std::string> again;  // the keys of the interrupted calls
};

// Publishes until a kill of the server, which is started again, interrupts some calls.
template <class Server>
Interrupted publish_until_killed(AsyncHandler& handler, ToldGate& gate, Server& server,
                                 std::size_t at_once) {
  Interrupted made;
  // A kill may come too late for all of them.
  for (int tries = 0; tries < 10 && made.again.empty(); ++tries) {
    std::vector<std::unique_ptr<PublishCall>> calls;
    const std::size_t first = made.sent;
    for (; made.sent < first + at_once; ++made.sent) {
      calls.push_back(publish(handler, gate, keyed_message(fmt::format("k-{}", made.sent))));
    }
    EXPECT_EQ(calls.front()->verdict().kind(), Verdict::Kind::kDone);
    server.kill();
    for (std::size_t i = 1; i < calls.size(); ++i) {
      const Verdict verdict = calls[i]->verdict();
      if (verdict.kind() == Verdict::Kind::kDone) continue;
      EXPECT_EQ(verdict.kind(), Verdict::Kind::kRetry) << verdict.reason();
      EXPECT_FALSE(verdict.counted());
      made.again.push_back(fmt::format("k-{}", first + i));
    }
    server.start();
  }
  EXPECT_FALSE(made.again.empty()) << "the faults came too late";
  EXPECT_FALSE(gate.shuts().empty());
  return made;
}

// The same, and repeats the interrupted calls until they are done. Returns how many keys there are.
template <class Server>
std::size_t publish_through_kills(AsyncHandler& handler, ToldGate& gate, Server& server,
                                  std::size_t at_once) {
  const Interrupted made = publish_until_killed(handler, gate, server, at_once);
  publish_surely(handler, gate, made.again);
  return made.sent;
}

}  // namespace semel::test
