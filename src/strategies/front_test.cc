#include "strategies/front.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include <semel/memory.h>
#include <semel/reason.h>

#include "tests/conformance/strategy/strategy_fixture.h"

namespace semel::strategies {
namespace {

using core::StrategyKind;
using semel::test::StoreCall;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = Outcome::Kind;

// A window that the test controls: it does everything that a window may do, and some things that it
// must not.
class OpenWindow final : public FrontWindow {
 public:
  Result<std::vector<Bytes>> look(std::span<const FrontName> names) override {
    ++looks;
    if (fails) return failure(Error{ErrorKind::kUnavailable, "R250", "gone", {}});
    if (slow) slow();
    std::vector<Bytes> found(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto at = kept.find(names[i]);
      if (at != kept.end()) found[i] = at->second;
      if (says) found[i] = *says;
    }
    return found;
  }
  void keep(std::span<const FrontEntry> entries) noexcept override {
    for (const FrontEntry& one : entries) {
      kept[one.name].assign(one.mark.begin(), one.mark.end());
    }
  }
  Result<void> check() override {
    if (fails) return failure(Error{ErrorKind::kUnavailable, "R250", "gone", {}});
    return {};
  }

  std::map<FrontName, Bytes> kept;
  std::function<void()> slow;
  std::optional<Bytes> says;
  bool fails = false;
  int looks = 0;
};

class FrontTest : public StrategyFixture {
 protected:
  FrontTest() : records_(make_memory_store({.environment = &environment_.get()})) {
    context_.handler = TransactionalHandler(effect);
    front_ = front(window_);
  }

  std::unique_ptr<Front> front(OpenWindow*& window, ConsumerNumber number = kConsumer,
                               std::string consumer = "payments", Store* store = nullptr) {
    auto made = std::make_unique<OpenWindow>();
    window = made.get();
    FrontOptions options;
    options.consumer = std::move(consumer);
    options.number = number;
    options.positions = (store != nullptr ? *store : *records_).facets().positions;
    options.window = std::move(made);
    options.environment = &environment_.get();
    options.observer = &observer_;
    options.own_thread = false;
    return std::make_unique<Front>(std::move(options));
  }

  RememberingSink through(std::vector<core::TrackedDelivery>& deliveries, Front* front = nullptr) {
    RememberingSink sink;
    make_fronted(make_strategy(kind_, context_), front != nullptr ? *front : *front_)
        ->process(deliveries, sink);
    EXPECT_EQ(sink.outcomes.size(), deliveries.size());
    return sink;
  }
  RememberingSink through(const std::vector<std::string>& with_keys) {
    auto deliveries = batch(with_keys);
    return through(deliveries);
  }
  bool knows(Front& front, const std::string& key, BytesView payload = "{}") {
    const auto message = semel::test::make_message(kConsumer, key, payload);
    const Message* const one = &message;
    return front.look({&one, 1}).completed.front();
  }
  bool knows(const std::string& key) { return knows(*front_, key); }

  StrategyKind kind_ = StrategyKind::kDedupTable;
  std::unique_ptr<Store> records_;
  OpenWindow* window_ = nullptr;
  std::unique_ptr<Front> front_;
};

TEST_F(FrontTest, ADuplicateItKnowsDoesNotTouchTheStore) {
  for (const auto kind : {StrategyKind::kDedupTable, StrategyKind::kInbox}) {
    kind_ = kind;
    const std::string key(core::to_string(kind));
    EXPECT_EQ(through({key}).of(key).kind, Kind::kDone);
    const auto begins = faults_.calls(StoreCall::kBegin);
    const auto again = through({key});
    EXPECT_EQ(again.of(key).kind, Kind::kDuplicate);
    EXPECT_EQ(again.of(key).settle, Outcome::Settle::kAck);
    EXPECT_EQ(again.of(key).reason, reason::kFront);
    EXPECT_EQ(faults_.calls(StoreCall::kBegin), begins);
    EXPECT_EQ(effects(key), 1);
  }
  kind_ = StrategyKind::kStateMachine;
  context_.handler = PlainHandler([](const Message&, const Attempt&) { return done(); });
  EXPECT_EQ(through({"plain"}).of("plain").kind, Kind::kDone);
  const auto claims = faults_.calls(StoreCall::kClaim);
  EXPECT_EQ(through({"plain"}).of("plain").reason, reason::kFront);
  EXPECT_EQ(faults_.calls(StoreCall::kClaim), claims);
}

TEST_F(FrontTest, TheOthersOfABatchGoOnInTheirOrder) {
  through({"k1", "k3"});
  const auto mixed = through({"k0", "k1", "k2", "k3", "k4"});
  EXPECT_EQ(mixed.order, (std::vector<Bytes>{"k1", "k3", "k0", "k2", "k4"}));
  EXPECT_EQ(mixed.count(Kind::kDone), 3U);
  EXPECT_EQ(mixed.count(Kind::kDuplicate), 2U);
  for (const auto& key : keys(5)) EXPECT_EQ(effects(key), 1) << key;
  EXPECT_EQ(front_->counts().asked, 7U);
  EXPECT_EQ(front_->counts().answered, 2U);
}

TEST_F(FrontTest, WhatTheRecordAnswersIsKnownFromThen) {
  process(kind_, {"a"});
  EXPECT_FALSE(knows("a"));
  EXPECT_EQ(through({"a"}).of("a").reason, "");
  EXPECT_TRUE(knows("a"));
}

TEST_F(FrontTest, OnlyCompletedIsKept) {
  context_.handler = TransactionalHandler([](const Message& message, Transaction&) -> Verdict {
    if (message.key().text == "retry") return retry("not yet");
    if (message.key().text == "dead") return dead("never");
    return discard("nothing to do");
  });
  through({"retry", "dead", "discard"});
  EXPECT_FALSE(knows("retry"));
  EXPECT_FALSE(knows("dead"));
  EXPECT_TRUE(knows("discard"));
  EXPECT_EQ(window_->kept.size(), 1U);
  faults_.fail_always(StoreCall::kBegin, ErrorKind::kUnavailable, semel::test::When::kBefore);
  through({"away"});
  EXPECT_EQ(window_->kept.size(), 1U);
}

TEST_F(FrontTest, AnotherPayloadIsTheRecordsToJudge) {
  through({"a"});
  std::vector<core::TrackedDelivery> other;
  other.push_back(semel::test::make_delivery(kConsumer, "a", "{\"other\":1}"));
  EXPECT_EQ(through(other).of("a").kind, Kind::kConflict);
}

TEST_F(FrontTest, WhatComesFromTheStoreIsNotAnswered) {
  through({"a"});
  auto deliveries = batch({"a"});
  deliveries[0].arrival.row = RowTag{7};
  store_.state.rows = {7};
  EXPECT_EQ(through(deliveries).of("a").settle, Outcome::Settle::kAcked);
  EXPECT_TRUE(store_.state.rows.empty());
  deliveries = batch({"a"});
  deliveries[0].arrival.suspect = true;
  EXPECT_EQ(through(deliveries).of("a").reason, "");
}

// Puts every value there except the one that the completion made.
TEST_F(FrontTest, NothingThatLiesThereIsBelieved) {
  const std::size_t none = window_->kept.size();
  through({"known"});
  ASSERT_EQ(window_->kept.size(), none + 1);
  const Bytes mark = window_->kept.begin()->second;
  for (const Bytes& lie : {Bytes("1"), Bytes("completed"), Bytes(16, '\0'), Bytes(16, '\xFF'), mark,
                           mark.substr(1), mark.substr(0, 15), mark + "x", Bytes(1U << 20U, 'x')}) {
    window_->says = lie;
    EXPECT_FALSE(knows("new")) << lie.size();
    EXPECT_EQ(knows("known"), lie == mark);
  }
  for (std::size_t bit = 0; bit < mark.size() * 8; ++bit) {
    Bytes turned = mark;
    turned[bit / 8] = static_cast<char>(turned[bit / 8] ^ (1 << (bit % 8)));
    window_->says = turned;
    EXPECT_FALSE(knows("known")) << bit;
  }
}

TEST_F(FrontTest, WhatAnotherConsumerOrStoreKeptMeansNothing) {
  through({"a"});
  const auto other_store = make_memory_store();
  OpenWindow* window = nullptr;
  const auto other = front(window, kConsumer, "payments", other_store.get());
  window->kept = window_->kept;
  EXPECT_FALSE(knows(*other, "a"));
  for (const auto& [name, mark] : window_->kept) window->says = mark;
  EXPECT_FALSE(knows(*other, "a"));
  const auto twin = front(window, ConsumerNumber{2}, "refunds");
  for (const auto& [name, mark] : window_->kept) window->says = mark;
  EXPECT_FALSE(knows(*twin, "a"));
}

TEST_F(FrontTest, AProcessThatBeginsMakesAllWindowsForget) {
  through({"a"});
  OpenWindow* window = nullptr;
  const auto second = front(window);
  window->kept = window_->kept;
  EXPECT_FALSE(knows(*second, "a")) << "the store may be an older one by now";
  EXPECT_TRUE(knows("a")) << "it has not looked yet";
  front_->turn();
  EXPECT_FALSE(knows("a"));
  // From here on both processes share one window.
  through({"b"});
  window->kept = window_->kept;
  EXPECT_TRUE(knows(*second, "b"));
}

TEST_F(FrontTest, ForgettingARecordMakesItForgetInBoundedTime) {
  through({"a"});
  store_.state.records.clear();
  EXPECT_TRUE(reseal_fronts(*records_, kConsumer, environment_.get()).value());
  environment_.clock.advance(kFrontTrusted);
  EXPECT_FALSE(knows("a")) << "by the bound nobody believes the old secret, seen or not";
  front_->turn();
  EXPECT_FALSE(knows("a"));
  EXPECT_EQ(through({"a"}).of("a").kind, Kind::kDone);
  EXPECT_EQ(effects("a"), 2);
  EXPECT_FALSE(reseal_fronts(*records_, ConsumerNumber{9}, environment_.get()).value());
}

// The record was read before it was forgotten, and the answer came afterwards: that answer must not
// be kept.
TEST_F(FrontTest, WhatWasHeardBeforeTheForgettingIsNotKeptAfter) {
  through({"a"});
  auto deliveries = batch({"a"});
  RememberingSink sink;
  window_->kept.clear();
  window_->slow = [this] {
    window_->slow = nullptr;
    ASSERT_TRUE(reseal_fronts(*records_, kConsumer, environment_.get()).value());
    front_->turn();
  };
  make_fronted(make_strategy(kind_, context_), *front_)->process(deliveries, sink);
  EXPECT_EQ(sink.of("a").kind, Kind::kDuplicate);
  EXPECT_FALSE(knows("a"));
}

// On another machine a record may have been forgotten while this one was suspended.
TEST_F(FrontTest, ASuspendedMachineBelievesNothingWhenItWakes) {
  through({"a"});
  environment_.clock.suspend(kFrontTrusted);
  EXPECT_FALSE(knows("a"));
  front_->turn();
  EXPECT_TRUE(knows("a"));
}

TEST_F(FrontTest, ASlowAnswerIsNotBelievedPastTheBound) {
  through({"a"});
  window_->slow = [this] { environment_.clock.advance(kFrontTrusted); };
  EXPECT_FALSE(knows("a"));
}

TEST_F(FrontTest, AStoreThatWasAwayMayBeAnother) {
  through({"a"});
  faults_.fail_always(StoreCall::kBegin, ErrorKind::kUnavailable, semel::test::When::kBefore);
  EXPECT_EQ(through({"b"}).of("b").reason, reason::kStoreUnavailable);
  EXPECT_FALSE(knows("a"));
  front_->turn();
  EXPECT_FALSE(knows("a"));
  faults_.clear();
  EXPECT_EQ(through({"a"}).of("a").reason, "");
  EXPECT_TRUE(knows("a"));
}

TEST_F(FrontTest, AWindowThatIsAwayIsToldOnceAndAskedNoMore) {
  through({"a"});
  window_->fails = true;
  const int before = window_->looks;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(through({"a"}).of("a").kind, Kind::kDuplicate);
  EXPECT_EQ(through({"b"}).of("b").kind, Kind::kDone);
  EXPECT_EQ(window_->looks, before + 1);
  front_->turn();
  ASSERT_EQ(observer_.troubles().size(), 1U);
  EXPECT_EQ(observer_.troubles()[0].where, "front window");
  EXPECT_FALSE(observer_.troubles()[0].mended);
  window_->fails = false;
  front_->turn();
  front_->turn();
  ASSERT_EQ(observer_.troubles().size(), 2U);
  EXPECT_TRUE(observer_.troubles()[1].mended);
  EXPECT_TRUE(knows("a"));
}

TEST_F(FrontTest, ATimeWithoutALookAtTheSecretEndsTheBelief) {
  through({"a"});
  environment_.clock.advance(kFrontTrusted - milliseconds(1));
  EXPECT_TRUE(knows("a"));
  environment_.clock.advance(milliseconds(1));
  EXPECT_FALSE(knows("a"));
  front_->turn();
  EXPECT_TRUE(knows("a")) << "it is the same secret";
}

// Handles the same deliveries with the window and without it, in a store that loses transactions,
// with a window that loses, garbles and hides its entries. The effects must be the same.
TEST_F(FrontTest, RandomDeliveriesHaveTheSameEffectsWithItAndWithout) {
  const std::uint64_t seed = semel::test::test_seed();
  SCOPED_TRACE(seed);
  semel::test::SeededRandom random(seed);
  int known = 0;
  for (int round = 0; round < 400; ++round) {
    switch (random.below(8)) {
      case 0:
        window_->kept.clear();
        break;
      case 1:
        if (!window_->kept.empty()) window_->kept.begin()->second = "garbage";
        break;
      case 2:
        faults_.fail(StoreCall::kUnitCommit, 1, ErrorKind::kInDoubt,
                     random.below(2) == 0 ? semel::test::When::kBefore : semel::test::When::kAfter);
        break;
      case 3:
        window_->fails = !window_->fails;
        front_->turn();
        break;
      case 4:
        front_ = front(window_);  // the process died and begins again
        break;
      default:
        front_->turn();
    }
    std::vector<std::string> some;
    for (std::uint64_t i = 0, count = 1 + random.below(6); i < count; ++i) {
      const std::string key = "k" + std::to_string(random.below(60));
      if (std::ranges::find(some, key) == some.end()) some.push_back(key);
    }
    const auto sink = through(some);
    for (const std::string& key : some) {
      EXPECT_EQ(effects(key), 1) << key << " " << to_string(sink.of(key).kind);
      if (sink.of(key).reason == reason::kFront) ++known;
    }
    faults_.clear();
  }
  EXPECT_GT(known, 20) << "the window answered nothing worth the test";
}

}  // namespace
}  // namespace semel::strategies
