#include "producer/sender.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include <semel/reason.h>

namespace semel::producer {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Answers each call, by its message's payload and how often that was called before, and remembers
// under which keys.
class Receiver {
 public:
  using Script = std::function<std::optional<Verdict>(const Message&, int times)>;
  explicit Receiver(Script script) : script_(std::move(script)) {}

  AsyncHandler handler() {
    return [this](const Message& message, const Attempt& attempt, Completion completion) {
      const Bytes payload(message.payload());
      int times = 0;
      {
        const std::scoped_lock lock(mutex_);
        times = static_cast<int>(keys_[payload].size());
        keys_[payload].push_back(message.key().text);
        attempts_.push_back(attempt.number);
      }
      auto verdict = script_(message, times);
      if (verdict) return completion(*std::move(verdict));
      const std::scoped_lock lock(mutex_);
      silent_.push_back(std::move(completion));
    };
  }
  std::vector<Bytes> keys(const Bytes& payload) {
    const std::scoped_lock lock(mutex_);
    return keys_[payload];
  }
  void answer_the_silent() {
    std::vector<Completion> all;
    {
      const std::scoped_lock lock(mutex_);
      all.swap(silent_);
    }
    for (Completion& one : all) one(done("late"));
  }
  std::vector<int> attempts_;

 private:
  Script script_;
  std::mutex mutex_;
  std::map<Bytes, std::vector<Bytes>> keys_;
  std::vector<Completion> silent_;
};

constexpr milliseconds kLongest = seconds(60);

Sender sender_to(Receiver& receiver, milliseconds limit = kLongest, std::size_t most = 8) {
  KeyRules rules;
  rules.recipe = auto_recipe();
  return Sender(try_by(receiver.handler(), most), std::move(rules),
                {.time_limit = limit, .first_pause = milliseconds(1)}, system_environment());
}

OutgoingMessage one(Bytes payload) {
  OutgoingMessage message;
  message.payload = std::move(payload);
  return message;
}

SendResult send_one(const Sender& sender, Bytes payload) {
  const OutgoingMessage message = one(std::move(payload));
  return std::move(sender.send({&message, 1}).front());
}

Verdict again(std::string_view code, bool unknown = false) {
  Verdict::Retry verdict;
  verdict.reason = "not now";
  verdict.code = code;
  verdict.unknown = unknown;
  return verdict;
}

TEST(Sender, TriesUnderOneKeyUntilItIsConfirmed) {
  Receiver receiver([](const Message&, int times) {
    return times < 4 ? again("handler.kafka.broker", true) : done("orders-0-7");
  });
  const Sender sender = sender_to(receiver);
  const SendResult sent = send_one(sender, "{}");
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(sent->answer, "orders-0-7");
  EXPECT_EQ(receiver.keys("{}"), std::vector<Bytes>(5, sent->key));
  EXPECT_EQ(receiver.attempts_, (std::vector<int>{1, 2, 3, 4, 5}));
}

TEST(Sender, WhatAPersonHasToMendIsFinal) {
  const char* const words[] = {
      "handler.kafka.topic",          "handler.kafka.denied", "handler.rabbitmq.unroutable",
      "handler.rabbitmq.exchange",    "handler.http.404",     "handler.http.301",
      "handler.nats.stream",          "handler.nats.denied",  "handler.redis_streams.stream",
      "handler.redis_streams.denied", "handler.sqs.queue",    "handler.sqs.denied",
      "handler.sqs.credentials",      "handler.sns.topic",    "handler.sns.denied",
      "handler.sns.credentials"};
  for (const char* word : words) {
    Receiver receiver([&](const Message&, int) { return again(word); });
    const SendResult sent = send_one(sender_to(receiver), "{}");
    ASSERT_FALSE(sent) << word;
    EXPECT_EQ(sent.error().kind, ErrorKind::kRejected);
    EXPECT_EQ(sent.error().code, "R332");
    EXPECT_EQ(sent.error().reason, word);
    EXPECT_EQ(receiver.keys("{}"), std::vector<Bytes>{sent.error().key});
  }
}

TEST(Sender, TooLargeIsALimit) {
  Receiver receiver([](const Message&, int) {
    Verdict::Dead verdict;
    verdict.reason = "too large";
    verdict.code = reason::kafka_reason("too_large");
    return verdict;
  });
  EXPECT_EQ(send_one(sender_to(receiver), "{}").error().kind, ErrorKind::kLimit);
}

TEST(Sender, WhatMayHaveArrivedOnceStaysInDoubtHoweverItEnds) {
  Receiver receiver([](const Message&, int times) {
    return times == 0 ? again("handler.rabbitmq.reset", true) : again("handler.rabbitmq.exchange");
  });
  const SendResult sent = send_one(sender_to(receiver), "{}");
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::kInDoubt);
  EXPECT_EQ(sent.error().code, "R330");
  EXPECT_EQ(sent.error().key, receiver.keys("{}").front());
}

TEST(Sender, AtItsLimitWhatNeverWentIsUnavailable) {
  // A busy machine may have no time for a second try: then there is more of it.
  for (milliseconds limit(50); limit < kLongest; limit *= 2) {
    Receiver receiver([](const Message&, int) { return again("handler.rabbitmq.connect"); });
    const SendResult sent = send_one(sender_to(receiver, limit), "{}");
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().kind, ErrorKind::kUnavailable);
    EXPECT_EQ(sent.error().code, "R331");
    if (receiver.keys("{}").size() > 1) return;
  }
  FAIL() << "it is not tried again";
}

TEST(Sender, WhatHadAllTheTimeIsNotBegunAgain) {
  for (const bool unknown : {false, true}) {
    const char* const word = unknown ? "handler.kafka.timeout" : "handler.kafka.connect";
    Receiver receiver([&](const Message&, int) { return again(word, unknown); });
    const SendResult sent = send_one(sender_to(receiver), "{}");
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().kind, unknown ? ErrorKind::kInDoubt : ErrorKind::kUnavailable);
    EXPECT_EQ(receiver.keys("{}").size(), 1U);
  }
}

// The call outlives its caller and borrows nothing from it.
TEST(Sender, ACallThatIsNeverAnsweredIsInDoubtAndMayAnswerLater) {
  for (milliseconds limit(30); limit < kLongest; limit *= 2) {
    Receiver receiver([](const Message&, int) { return std::nullopt; });
    SendResult sent = Sent{};
    {
      const Sender sender = sender_to(receiver, limit);
      sent = send_one(sender, "{}");
    }
    receiver.answer_the_silent();
    ASSERT_FALSE(sent);
    // A busy machine may not have begun it in that time.
    if (receiver.keys("{}").empty()) continue;
    EXPECT_EQ(sent.error().kind, ErrorKind::kInDoubt);
    EXPECT_EQ(receiver.keys("{}"), std::vector<Bytes>{sent.error().key});
    return;
  }
  FAIL() << "it is never begun";
}

TEST(Sender, OfManyEachHasItsOwnEndAndOnlyWhatFailedIsTriedAgain) {
  Receiver receiver([](const Message& message, int times) -> std::optional<Verdict> {
    const int number = std::stoi(std::string(message.payload()));
    if (number == 13) return dead("not this one");
    return number % 10 == 0 && times == 0 ? again("handler.kafka.broker") : done();
  });
  const Sender sender = sender_to(receiver);
  std::vector<OutgoingMessage> messages;
  for (int i = 0; i < 100; ++i) messages.push_back(one(std::to_string(i)));
  messages[50].key = "";  // cannot be sent at all
  const auto results = sender.send(messages);
  ASSERT_EQ(results.size(), 100U);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto keys = receiver.keys(std::to_string(i));
    EXPECT_EQ(results[i].has_value(), i != 13 && i != 50) << i;
    EXPECT_EQ(keys.size(), i == 50 ? 0U : i % 10 == 0 ? 2U : 1U) << i;
    if (!results[i]) continue;
    EXPECT_EQ(keys, std::vector<Bytes>(keys.size(), results[i]->key));
  }
}

TEST(Sender, NoMoreCallsAreRunningThanAllowed) {
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> threads;
  std::mutex mutex;
  AsyncHandler handler = [&](const Message&, const Attempt&, Completion completion) {
    most = std::max<int>(most, ++running);
    const std::scoped_lock lock(mutex);
    threads.emplace_back([&, completion = std::make_shared<Completion>(std::move(completion))] {
      std::this_thread::yield();
      --running;
      (*completion)(done());
    });
  };
  KeyRules rules;
  rules.recipe = auto_recipe();
  const Sender sender(try_by(handler, 4), rules, {}, system_environment());
  std::vector<OutgoingMessage> messages(100, one("{}"));
  for (const SendResult& sent : sender.send(messages)) EXPECT_TRUE(sent);
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 4);
}

TEST(Sender, NothingIsSentWhereNothingIsGiven) {
  Receiver receiver([](const Message&, int) { return done(); });
  EXPECT_TRUE(sender_to(receiver).send({}).empty());
}

}  // namespace
}  // namespace semel::producer
