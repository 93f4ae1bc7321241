// Deliveries that a store may acknowledge with their records: it is told which ones, and its answer
// leaves nothing to do at their source.
#include "tests/conformance/strategy/strategy_fixture.h"

namespace semel::strategies {
namespace {

using Kind = Outcome::Kind;
using Settle = Outcome::Settle;

// Shares a server with the source: it acknowledges whatever it is told of.
class SettlingStore final : public Store {
 public:
  explicit SettlingStore(Store& inner) : inner_(inner) {}

  const StoreTraits& traits() const noexcept override { return inner_.traits(); }
  StoreFacets facets() noexcept override { return inner_.facets(); }
  Result<ConsumerNumber> attach(const ConsumerSpec& consumer) override {
    return inner_.attach(consumer);
  }
  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override {
    return inner_.claim(messages, options);
  }
  Result<std::vector<Applied>> renew(std::span<const Lease> leases,
                                     std::chrono::milliseconds lease) override {
    return inner_.renew(leases, lease);
  }
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    auto applied = inner_.finish(batch);
    for (std::size_t i = 0; applied && i < batch.size(); ++i) {
      if (batch[i].settles == nullptr) continue;
      if ((*applied)[i] == Applied::kYes) (*applied)[i] = Applied::kYesSettled;
      settled.push_back(batch[i].settles->entry->sequence);
    }
    return applied;
  }
  Result<PurgeReport> purge(std::chrono::milliseconds budget) override {
    return inner_.purge(budget);
  }

  std::vector<std::uint64_t> settled;  // the sequence of each entry that a call named

 private:
  Store& inner_;
};

class SettledDelivery : public StrategyFixture {
 protected:
  SettledDelivery() {
    context_.store = &settling_;
    context_.handler = PlainHandler([](const Message& message, const Attempt&) -> Verdict {
      if (message.key().text == "later") return retry("service.away");
      if (message.key().text == "dead") return dead("no such account");
      return done();
    });
  }
  // Entries of a stream, numbered from 1, but for the last one.
  static std::vector<core::TrackedDelivery> entries(const std::vector<std::string>& keys) {
    auto deliveries = batch(keys);
    for (std::size_t i = 0; i + 1 < deliveries.size(); ++i) {
      deliveries[i].arrival.entry = {std::make_shared<StreamGroup>(), 0, i + 1};
    }
    return deliveries;
  }

  SettlingStore settling_{*faulty_};
};

TEST_F(SettledDelivery, IsNamedToTheStoreWhereItsSourceWouldAcknowledgeIt) {
  auto deliveries = entries({"done", "later", "dead", "no entry"});
  const RememberingSink sink = process(kStateMachine, deliveries);
  EXPECT_EQ(sink.of("done").settle, Settle::kAcked);
  EXPECT_EQ(sink.of("dead").settle, Settle::kAcked);
  EXPECT_EQ(sink.of("no entry").settle, Settle::kAck);
  EXPECT_EQ(sink.of("later").settle, Settle::kAcked) << "the store holds it from now on";
  EXPECT_EQ(settling_.settled, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST_F(SettledDelivery, IsNotNamedWhereNothingKeepsItButItsSource) {
  context_.hold = false;
  auto deliveries = entries({"later", "no entry"});
  const RememberingSink sink = process(kStateMachine, deliveries);
  EXPECT_EQ(sink.of("later").settle, Settle::kLater);
  EXPECT_TRUE(settling_.settled.empty());
}

TEST_F(SettledDelivery, IsLeftToItsSourceWhereItIsADuplicate) {
  auto first = entries({"done", "no entry"});
  process(kStateMachine, first);
  auto second = entries({"done", "no entry"});
  const RememberingSink sink = process(kStateMachine, second);
  EXPECT_EQ(sink.of("done").kind, Kind::kDuplicate);
  EXPECT_EQ(sink.of("done").settle, Settle::kAck);
  EXPECT_EQ(settling_.settled, std::vector<std::uint64_t>{1});
}

// The answer to the finish was lost: a second one finds the record, and the source acknowledges.
TEST_F(SettledDelivery, IsAcknowledgedOnceMoreWhereTheAnswerWasLost) {
  faults_.fail(semel::test::StoreCall::kFinish, 1, ErrorKind::kInDoubt, semel::test::When::kAfter);
  auto deliveries = entries({"done", "no entry"});
  const RememberingSink sink = process(kStateMachine, deliveries);
  EXPECT_EQ(faults_.fired(), 1U);
  EXPECT_EQ(sink.of("done").kind, Kind::kDone);
  EXPECT_EQ(sink.of("done").settle, Settle::kAck);
}

}  // namespace
}  // namespace semel::strategies
