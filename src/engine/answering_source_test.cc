// A source whose senders wait for an answer gets each delivery's outcome before its settlement.
#include <map>
#include <string>
#include <vector>

#include "engine/test_engine.h"

namespace semel::engine {
namespace {

// Records every outcome and settlement of each tag, in order.
class AnsweringSource final : public Source {
 public:
  using Told = std::map<std::uint64_t, std::vector<std::string>>;

  AnsweringSource(MemoryTopic& topic, Told& told) : source_(topic), told_(told) {
    traits_ = source_.traits();
    traits_.answers = true;
  }
  const SourceTraits& traits() const noexcept override { return traits_; }
  Result<Received> receive(const ReceiveLimits& limits) override { return source_.receive(limits); }
  Wakeup wakeup() override { return source_.wakeup(); }
  Result<void> settle(std::span<const Settlement> settlements) override {
    for (const Settlement& one : settlements) {
      const bool acked = one.kind == Settlement::Kind::kAck;
      note(one.tag, acked ? "ack" : "not");
    }
    return source_.settle(settlements);
  }
  void ended(const Tag& tag, const Outcome& outcome) noexcept override {
    note(tag, std::string(to_string(outcome.kind)) + " " + outcome.reason);
  }
  Result<void> extend(std::span<const Tag> tags, milliseconds by) override {
    return source_.extend(tags, by);
  }
  void set_paused(std::string_view partition, bool paused) override {
    source_.set_paused(partition, paused);
  }
  Result<void> close(milliseconds deadline) override { return source_.close(deadline); }

 private:
  void note(const Tag& tag, std::string what) {
    const system::MutexLock lock(mutex_);
    told_[tag.value].push_back(std::move(what));
  }

  MemorySource source_;
  SourceTraits traits_;
  system::Mutex mutex_;
  Told& told_ SEMEL_GUARDED_BY(mutex_);
};

using Said = std::vector<std::string>;

TEST_F(EngineTest, ASourceThatAnswersIsToldTheEndBeforeTheSettlement) {
  send("a");
  send("b");
  topic_.add("no json");
  topic_.finish();
  AnsweringSource::Told told;
  auto e = engine_over(std::make_unique<AnsweringSource>(topic_, told),
                       [](core::TrackedDelivery& delivery, std::size_t) {
                         const bool first = delivery.message.key().text == "a";
                         return ended(first ? Outcome::Kind::kDone : Outcome::Kind::kDuplicate);
                       });
  EXPECT_EQ(e->run(), Ended::kFinished);
  ASSERT_EQ(told.size(), 3U);
  auto one = told.begin();
  EXPECT_EQ(one++->second, (Said{"done ", "ack"}));
  EXPECT_EQ(one++->second, (Said{"duplicate ", "ack"}));
  EXPECT_EQ(one->second, (Said{"dead payload.invalid", "ack"})) << "it became no delivery";
}

// The message is stored and comes again from the store, so it has not ended.
TEST_F(EngineTest, WhatIsKeptForLaterIsSettledWithoutAnEnd) {
  options_.defers = true;
  send("a");
  topic_.finish();
  AnsweringSource::Told told;
  auto e = engine_over(std::make_unique<AnsweringSource>(topic_, told),
                       [](core::TrackedDelivery&, std::size_t) {
                         ADD_FAILURE() << "nothing brings it back here";
                         return ended(Outcome::Kind::kDone);
                       });
  EXPECT_EQ(e->run(), Ended::kFinished);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told.begin()->second, Said{"ack"});
}

}  // namespace
}  // namespace semel::engine
