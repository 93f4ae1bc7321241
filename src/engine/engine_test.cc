#include <map>
#include <set>
#include <thread>

#include <semel/admin/records.h>
#include <semel/spi/run_markers.h>

#include "engine/test_engine.h"
#include "tests/support/fault_store.h"

namespace semel::engine {
namespace {

TEST_F(EngineTest, EveryDeliveryEndsOnceAndIsAcked) {
  for (const int workers : {0, 4}) {
    SCOPED_TRACE(workers);
    options_.workers = workers;
    MemoryTopic topic;
    std::atomic<int> ran{0};
    for (int i = 0; i < 5000; ++i) topic_.add(payload_with_id("k" + std::to_string(i % 700), i));
    topic_.finish();
    const std::size_t acked = topic_.acked();
    auto e = engine([&](core::TrackedDelivery&, std::size_t) {
      ++ran;
      return ended(Outcome::Kind::kDone);
    });
    EXPECT_EQ(e->run(), Ended::kFinished);
    EXPECT_EQ(ran, 5000);
    EXPECT_EQ(topic_.acked(), acked + 5000);
    EXPECT_EQ(topic_.unsettled(), 0u);
  }
}

TEST_F(EngineTest, ASlowKeyDelaysNoOther) {
  options_.workers = 2;
  std::atomic<bool> release{false};
  send("slow");
  for (int i = 0; i < 500; ++i) send("k" + std::to_string(i));
  send("slow", 2);
  topic_.finish();
  std::atomic<int> quick{0};
  auto e = engine([&](core::TrackedDelivery& delivery, std::size_t) {
    if (delivery.message.key().text == "slow") {
      release.wait(false);
    } else {
      ++quick;
    }
    return ended(Outcome::Kind::kDone);
  });
  std::thread running([&] { EXPECT_EQ(e->run(), Ended::kFinished); });
  EXPECT_TRUE(test::comes_true([&] { return quick == 500; }));
  EXPECT_TRUE(test::comes_true([&] { return topic_.unsettled() <= 2; }));
  EXPECT_EQ(topic_.unsettled(), 2u) << "an ending waits for the slow key";
  release = true;
  release.notify_all();
  running.join();
  EXPECT_EQ(topic_.unsettled(), 0u);
}

TEST_F(EngineTest, AnEndingIsSettledWhileItsBatchStillRuns) {
  options_.batch_first = 10;
  options_.pace.batch_max = 10;
  std::atomic<bool> release{false};
  send("quick");
  send("slow");
  topic_.finish();
  auto e = engine([&](core::TrackedDelivery& delivery, std::size_t) {
    if (delivery.message.key().text == "slow") release.wait(false);
    return ended(Outcome::Kind::kDone);
  });
  std::thread running([&] { (void)e->run(); });
  EXPECT_TRUE(test::comes_true([&] { return topic_.acked() > 0; }));
  EXPECT_EQ(topic_.acked(), 1u) << "the quick one waits for the slow one of its batch";
  release = true;
  release.notify_all();
  running.join();
}

// Waits for other batches before its handlers begin, until `go_on`.
class HeldUpStrategy final : public strategies::Strategy {
 public:
  HeldUpStrategy(strategies::HandlerMonitor& monitor, std::function<void()> go_on)
      : monitor_(monitor), go_on_(std::move(go_on)) {}
  void process(std::span<core::TrackedDelivery> batch,
               strategies::OutcomeSink& sink) noexcept override {
    const auto watch = monitor_.watch({}, Handlers::kInTurn);
    sink.waits(true);
    go_on_();
    sink.waits(false);
    for (core::TrackedDelivery& delivery : batch) sink.ended(delivery, ended(Outcome::Kind::kDone));
  }

 private:
  strategies::HandlerMonitor& monitor_;
  const std::function<void()> go_on_;
};

TEST_F(EngineTest, ABatchThatWaitsForOthersDoesNotHang) {
  options_.handler_timeout = milliseconds(20);
  options_.grace = milliseconds(20);
  options_.lease = milliseconds(60);
  auto source = std::make_unique<MemorySource>(topic_, test::MemorySourceOptions{});
  const MemorySource& asked = *source;
  send("a");
  topic_.finish();
  EngineParts parts = parts_over(std::move(source));
  bool kept = false;
  parts.strategy = [&](const strategies::Services& services) {
    // This many renewals take longer than a handler may.
    return std::make_unique<HeldUpStrategy>(*services.monitor, [&] {
      kept = test::comes_true([&] { return asked.extended() >= 10; });
    });
  };
  EXPECT_EQ(Engine::create(options_, std::move(parts))->run(), Ended::kFinished);
  EXPECT_TRUE(kept) << "another process may have its row";
}

TEST_F(EngineTest, WhatIsKeptComesAgainWhenItsDelayIsOverOrItIsRecalled) {
  for (const bool recalled : {false, true}) {
    SCOPED_TRACE(recalled);
    send(recalled ? "by recall" : "by time");
    topic_.finish();
    EngineParts parts = parts_over(std::make_unique<MemorySource>(topic_));
    strategies::Recaller* recaller = nullptr;
    std::atomic<int> tries{0};
    const auto script = [&](core::TrackedDelivery& delivery, std::size_t) {
      if (++tries == 2) return ended(Outcome::Kind::kDone);
      Outcome outcome = ended(Outcome::Kind::kRetry, Outcome::Settle::kKeep);
      outcome.delay = recalled ? std::chrono::hours(1) : milliseconds(5);
      delivery.waits_for = 7;
      return outcome;
    };
    parts.strategy = [&](const strategies::Services& services) {
      recaller = services.recaller;
      return std::make_unique<ScriptedStrategy>(script, *services.monitor);
    };
    const auto e = Engine::create(options_, std::move(parts));
    std::thread running([&] { EXPECT_EQ(e->run(), Ended::kFinished); });
    EXPECT_TRUE(test::comes_true([&] {
      if (recalled) recaller->recall(7);
      return tries == 2;
    }));
    running.join();
    EXPECT_EQ(topic_.unsettled(), 0u);
  }
}

TEST_F(EngineTest, WhatTheSourceCannotBringAgainTheEngineDoes) {
  for (const bool redelivers : {true, false}) {
    SCOPED_TRACE(redelivers);
    const std::string key = redelivers ? "by source" : "by engine";
    send(key);
    topic_.finish();
    int tries = 0;
    auto e = engine(
        [&](core::TrackedDelivery&, std::size_t) {
          if (++tries < 3) {
            Outcome outcome = ended(Outcome::Kind::kBusy, Outcome::Settle::kLater);
            outcome.delay = milliseconds(5);
            return outcome;
          }
          return ended(Outcome::Kind::kDone);
        },
        redelivers);
    EXPECT_EQ(e->run(), Ended::kFinished);
    EXPECT_EQ(tries, 3);
    EXPECT_EQ(topic_.unsettled(), 0u);
    EXPECT_EQ(seen_.count(Outcome::Kind::kBusy, key), 2u);
  }
}

TEST_F(EngineTest, HostileMessagesBecomeDeadLettersAndTheGoodOnesAreDone) {
  topic_.add("not json");
  send("good");
  topic_.add("{\"id\":null}");
  topic_.add("{\"other\":1}");
  topic_.finish();
  auto e = engine([](core::TrackedDelivery&, std::size_t) { return ended(Outcome::Kind::kDone); });
  EXPECT_EQ(e->run(), Ended::kFinished);
  EXPECT_EQ(topic_.unsettled(), 0u);
  EXPECT_EQ(seen_.count(Outcome::Kind::kDone), 1u);
  auto letters = store_->facets().dead_letters->list({});
  ASSERT_TRUE(letters);
  std::set<std::string> reasons;
  for (const DeadLetter& letter : *letters) reasons.insert(letter.reason);
  EXPECT_EQ(letters->size(), 3u);
  EXPECT_EQ(reasons, (std::set<std::string>{"key.invalid", "key.missing", "payload.invalid"}));
}

TEST_F(EngineTest, ADeadLetterThatCannotBeKeptIsNotAcked) {
  test::FaultPlan plan;
  auto failing = test::make_fault_store(*store_, plan);
  plan.fail(test::StoreCall::kFinish, 1, ErrorKind::kUnavailable, test::When::kBefore);
  topic_.add("not json");
  topic_.finish();
  auto e = engine([](core::TrackedDelivery&, std::size_t) { return ended(Outcome::Kind::kDone); },
                  true, failing.get());
  EXPECT_EQ(e->run(), Ended::kFinished);
  EXPECT_EQ(plan.fired(), 1u);
  EXPECT_EQ(topic_.unsettled(), 0u);
  EXPECT_EQ(store_->facets().dead_letters->list({})->size(), 1u);
  const auto troubles = seen_.troubles();
  ASSERT_FALSE(troubles.empty());
  EXPECT_FALSE(troubles.front().mended);
}

TEST_F(EngineTest, MissingFailStopsTheConsumerAndAcksNothing) {
  options_.recipe.missing = core::KeyRecipe::Missing::kFail;
  topic_.add("{\"other\":1}");
  topic_.finish();
  auto e = engine([](core::TrackedDelivery&, std::size_t) { return ended(Outcome::Kind::kDone); });
  EXPECT_EQ(e->run(), Ended::kFailed);
  EXPECT_EQ(topic_.unsettled(), 1u);
}

TEST_F(EngineTest, DryRunLooksAndTouchesNothing) {
  options_.dry_run = true;
  send("a");
  send("b");
  topic_.finish();
  bool ran = false;
  auto e = engine([&](core::TrackedDelivery&, std::size_t) {
    ran = true;
    return ended(Outcome::Kind::kDone);
  });
  EXPECT_EQ(e->run(), Ended::kFinished);
  EXPECT_FALSE(ran);
  EXPECT_EQ(seen_.ended().size(), 2u);
  EXPECT_EQ(topic_.unsettled(), 2u);
  EXPECT_EQ(topic_.acked(), 0u);
}

TEST_F(EngineTest, AStoreThatStaysAwayEndsARunThatMayNotWait) {
  options_.once = false;
  options_.fail_on_unavailable = true;
  send("a");
  auto e = engine([](core::TrackedDelivery&, std::size_t) {
    Outcome outcome = ended(Outcome::Kind::kRetry, Outcome::Settle::kLater);
    outcome.reason = reason::kStoreUnavailable;
    outcome.error = "the disk is full";
    outcome.delay = milliseconds(1);
    return outcome;
  });
  EXPECT_EQ(e->run(), Ended::kUnavailable);
  EXPECT_EQ(topic_.unsettled(), 1u);
  ASSERT_EQ(seen_.troubles().size(), 1u) << "said once, not once a try";
  EXPECT_EQ(seen_.troubles()[0].error.message, "the disk is full");
}

TEST_F(EngineTest, ASettlementThatFailsIsToldAgain) {
  send("a");
  topic_.finish();
  auto source = std::make_unique<MemorySource>(topic_);
  source->fail_settle({ErrorKind::kUnavailable, "R300", "the connection is gone", ""});
  EXPECT_EQ(run_over(std::move(source)), Ended::kFinished);
  EXPECT_EQ(topic_.unsettled(), 0u);
}

TEST_F(EngineTest, BackpressureBoundsWhatIsInFlight) {
  options_.pace.max_in_flight = 10;
  options_.workers = 2;
  for (int i = 0; i < 500; ++i) send("k" + std::to_string(i));
  topic_.finish();
  std::atomic<std::size_t> most{0};
  auto e = engine([&](core::TrackedDelivery&, std::size_t) {
    const std::size_t now = topic_.in_flight();
    std::size_t before = most.load();
    while (now > before && !most.compare_exchange_weak(before, now)) {
    }
    return ended(Outcome::Kind::kDone);
  });
  EXPECT_EQ(e->run(), Ended::kFinished);
  EXPECT_LE(most, 10u);
  EXPECT_GT(most, 1u);
}

TEST_F(EngineTest, RefusedMessagesAreKeptThoughTheyFillTheRoom) {
  test::FaultPlan plan;
  auto failing = test::make_fault_store(*store_, plan);
  plan.fail(test::StoreCall::kFinish, 1, ErrorKind::kBlocked, test::When::kBefore);
  options_.pace.max_in_flight = 5;
  for (int i = 0; i < 10; ++i) topic_.add("{\"n\":" + std::to_string(i) + "}");
  topic_.finish();
  auto e = engine([](core::TrackedDelivery&, std::size_t) { return ended(Outcome::Kind::kDone); },
                  true, failing.get());
  EXPECT_EQ(e->run(), Ended::kFinished);
  EXPECT_EQ(plan.fired(), 1u);
  EXPECT_EQ(store_->facets().dead_letters->list({})->size(), 10u);
}

Arrival tombstone(std::string_view key) {
  Arrival arrival;
  arrival.broker_key = Bytes(key);
  return arrival;
}

TEST_F(EngineTest, AnEmptyPayloadBecomesWhatTheConfigSays) {
  options_.recipe.parts.push_back(core::KeyPart::parse("broker_key").value());
  for (const core::EmptyPayload empty : {core::EmptyPayload::kDiscard, core::EmptyPayload::kHandle,
                                         core::EmptyPayload::kDeadLetter}) {
    options_.empty = empty;
    MemoryTopic topic;
    topic.add(tombstone("order-1"));
    topic.add(payload_with_id("order-2"));
    topic.finish();
    std::vector<Bytes> handled;
    const std::size_t discarded = seen_.count(Outcome::Kind::kDiscarded);
    auto e = engine_over(std::make_unique<MemorySource>(topic, test::MemorySourceOptions{}),
                         [&](core::TrackedDelivery& delivery, std::size_t) {
                           handled.push_back(delivery.message.key().text);
                           return ended(Outcome::Kind::kDone);
                         });
    EXPECT_EQ(e->run(), Ended::kFinished);
    EXPECT_EQ(topic.unsettled(), 0u);
    const bool handles = empty == core::EmptyPayload::kHandle;
    const bool discards = empty == core::EmptyPayload::kDiscard;
    EXPECT_EQ(handled.size(), handles ? 2u : 1u);
    EXPECT_EQ(seen_.count(Outcome::Kind::kDiscarded) - discarded, discards ? 1u : 0u);
    const auto letters = store_->facets().dead_letters->list({}).value();
    EXPECT_EQ(letters.size(), empty == core::EmptyPayload::kDeadLetter ? 1u : 0u);
    if (!letters.empty()) {
      EXPECT_EQ(letters[0].reason, reason::kPayloadInvalid);
      EXPECT_EQ(letters[0].error, "the payload is empty");
    }
  }
}

// The source fails in this way, call after call, and then returns the topic's messages.
class AwayEngineTest : public EngineTest {
 protected:
  Ended run_after(const std::vector<std::string>& codes) {
    auto source = std::make_unique<MemorySource>(topic_);
    for (const std::string& code : codes) {
      source->fail_receive({ErrorKind::kUnavailable, code, "away for " + code, ""});
    }
    return run_over(std::move(source));
  }
};

TEST_F(AwayEngineTest, ASourceThatStaysAwayEndsARunThatMayNotWait) {
  options_.once = false;
  options_.fail_on_unavailable = true;
  EXPECT_EQ(run_after({"R206"}), Ended::kUnavailable);
  ASSERT_EQ(seen_.troubles().size(), 1u);
}

TEST_F(AwayEngineTest, AnotherReasonWhyASourceIsAwayIsToldOnce) {
  topic_.add("{}");
  topic_.finish();
  EXPECT_EQ(run_after({"R311", "R312", "R311"}), Ended::kFinished);
  std::vector<std::string> told;
  for (const auto& trouble : seen_.troubles()) {
    told.push_back(trouble.mended ? "back" : trouble.error.code);
  }
  EXPECT_EQ(told, (std::vector<std::string>{"R311", "R312", "back"}));
  EXPECT_EQ(topic_.acked(), 1u);
}

}  // namespace
}  // namespace semel::engine
