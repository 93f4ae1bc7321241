#include "strategies/writer_share.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "tests/conformance/strategy/strategy_fixture.h"

namespace semel::strategies {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(WriterShareTest, ACallAloneWaitsForNobody) {
  semel::test::ManualClock clock;
  WriterShare share(clock);
  clock.advance(milliseconds(7));
  WriterShare::Call call(&share);
  clock.advance(milliseconds(30));
  EXPECT_EQ(call.end(), nanoseconds{0});
}

TEST(WriterShareTest, CallsAtTheSameTimeShareIt) {
  semel::test::ManualClock clock;
  WriterShare share(clock);
  WriterShare::Call first(&share);
  clock.advance(milliseconds(10));
  WriterShare::Call second(&share);
  clock.advance(milliseconds(20));
  // 10 ms alone and half of 20 ms are its own.
  EXPECT_EQ(first.end(), milliseconds(10));
  clock.advance(milliseconds(5));
  EXPECT_EQ(second.end(), milliseconds(10));
  EXPECT_EQ(second.end(), nanoseconds{0});
}

TEST(WriterShareTest, ACallThatFailedCountsNoLonger) {
  semel::test::ManualClock clock;
  WriterShare share(clock);
  std::optional<WriterShare::Call> failed(&share);
  WriterShare::Call call(&share);
  failed.reset();
  clock.advance(milliseconds(10));
  EXPECT_EQ(call.end(), nanoseconds{0});
}

TEST(WriterShareTest, WithoutAShareNothingIsWaitedFor) {
  WriterShare::Call call(nullptr);
  EXPECT_EQ(call.end(), nanoseconds{0});
}

class WaitsSink final : public OutcomeSink {
 public:
  explicit WaitsSink(std::size_t deliveries) : open_(deliveries) {}
  void ended(core::TrackedDelivery&, Outcome) noexcept override { --open_; }
  void waited(std::optional<nanoseconds> time) noexcept override {
    EXPECT_GT(open_, 0U) << "told after the last delivery has ended";
    waited_ += time.value_or(nanoseconds{0});
  }
  nanoseconds waited_{0};

 private:
  std::size_t open_;
};

// Each write takes its time, and another may begin in the middle of a claim.
class SlowStore final : public Store {
 public:
  static constexpr milliseconds kClaim{10};
  static constexpr milliseconds kFinish{30};

  SlowStore(Store& inner, StoreTraits traits, std::function<void(milliseconds)> pass)
      : inner_(inner), traits_(traits), pass_(std::move(pass)) {}
  const StoreTraits& traits() const noexcept override { return traits_; }
  StoreFacets facets() noexcept override { return inner_.facets(); }
  Result<ConsumerNumber> attach(const ConsumerSpec& spec) override { return inner_.attach(spec); }
  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override {
    if (const auto other = std::exchange(in_claim, nullptr)) other();
    pass_(kClaim);
    return inner_.claim(messages, options);
  }
  Result<std::vector<Applied>> renew(std::span<const Lease> leases, milliseconds lease) override {
    return inner_.renew(leases, lease);
  }
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    pass_(kFinish);
    return inner_.finish(batch);
  }
  Result<PurgeReport> purge(milliseconds budget) override { return inner_.purge(budget); }

  std::function<void()> in_claim;

 private:
  Store& inner_;
  const StoreTraits traits_;
  const std::function<void(milliseconds)> pass_;
};

class WritersTest : public StrategyFixture {
 protected:
  // A batch is handled while another one of the same strategy claims; the sinks of both.
  std::pair<nanoseconds, nanoseconds> two_at_once(bool single_writer, bool transactions) {
    StoreTraits traits = faulty_->traits();
    traits.single_writer = single_writer;
    traits.transactions = transactions;
    SlowStore store(*faulty_, traits, [&](milliseconds time) { environment_.clock.advance(time); });
    context_.store = &store;
    context_.handler = PlainHandler([](const Message&, const Attempt&) { return done(); });
    const auto strategy = make_strategy(kStateMachine, context_);
    auto first = batch({"a", "b"});
    auto second = batch({"c"});
    WaitsSink first_sink(first.size());
    WaitsSink second_sink(second.size());
    store.in_claim = [&] { strategy->process(second, second_sink); };
    strategy->process(first, first_sink);
    return {first_sink.waited_, second_sink.waited_};
  }
};

TEST_F(WritersTest, ABatchThatMeetsAnotherSaysForHowLongItWaited) {
  const auto [first, second] = two_at_once(true, true);
  // Both calls of the second ran while the first one claimed, and half of the time was its own.
  EXPECT_EQ(second, (SlowStore::kClaim + SlowStore::kFinish) / 2);
  EXPECT_EQ(first, (SlowStore::kClaim + SlowStore::kFinish) / 2);
}

// They write to one log.
TEST_F(WritersTest, SoDoesOneOfAServer) {
  const auto [first, second] = two_at_once(false, true);
  EXPECT_EQ(second, (SlowStore::kClaim + SlowStore::kFinish) / 2);
  EXPECT_EQ(first, (SlowStore::kClaim + SlowStore::kFinish) / 2);
}

TEST_F(WritersTest, ABatchOfAStoreWithoutTransactionsSaysNothing) {
  const auto [first, second] = two_at_once(false, false);
  EXPECT_EQ(first, nanoseconds{0});
  EXPECT_EQ(second, nanoseconds{0});
}

}  // namespace
}  // namespace semel::strategies
