// Messages behind others of their ordering key in one batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "tests/conformance/strategy/strategy_fixture.h"

namespace semel::strategies {
namespace {

using core::StrategyKind;
using semel::test::StoreCall;
using Kind = Outcome::Kind;
using Settle = Outcome::Settle;
using Names = std::vector<std::string>;

class BatchOrder : public StrategyFixture {
 protected:
  BatchOrder() {
    context_.handler = TransactionalHandler([this](const Message& message, Transaction& tx) {
      handled_.push_back(message.key().text);
      make_effect(message, tx);
      if (fails_.contains(message.key().text)) throw std::runtime_error("no");
      return done();
    });
  }

  // The first letter of a message's key is its ordering key.
  static std::vector<core::TrackedDelivery> lines(const Names& keys) {
    return ordered_batch(keys, [](const std::string& key) { return key.substr(0, 1); });
  }
  RememberingSink process_lines(const Names& keys) {
    auto batch = lines(keys);
    return process(StrategyKind::kDedupTable, batch);
  }
  static bool is_left(const Outcome& outcome) {
    return outcome.settle == Settle::kKeep && outcome.delay.count() == 0;
  }

  std::set<std::string> fails_;
  Names handled_;
};

TEST_F(BatchOrder, AllGoesInOneTransactionWhileItGoesWell) {
  const auto sink = process_lines({"a1", "a2", "a3", "b1", "b2"});
  EXPECT_EQ(sink.count(Kind::kDone), 5U);
  EXPECT_EQ(faults_.calls(StoreCall::kUnitCommit), 1U);
  EXPECT_EQ(handled_.size(), 5U);
}

TEST_F(BatchOrder, NothingHappensBehindAMessageThatComesAgain) {
  fails_ = {"a2"};
  const auto sink = process_lines({"a1", "a2", "a3", "a4", "b1", "b2"});
  EXPECT_EQ(sink.count(Kind::kDone), 3U) << "a1, b1 and b2";
  EXPECT_EQ(sink.of("a2").kind, Kind::kRetry);
  for (const char* key : {"a3", "a4"}) {
    EXPECT_TRUE(is_left(sink.of(key))) << key;
    EXPECT_EQ(effects(key), 0);
  }
  const auto at = [&](const char* key) { return std::ranges::find(sink.order, key); };
  EXPECT_LT(at("a3"), at("a2")) << "who puts aside what is behind it has all of that";
  EXPECT_LT(at("a4"), at("a2"));
  EXPECT_EQ(handled_.size(), 6U) << "no handler that read nothing is called again";
}

TEST_F(BatchOrder, AMessageThatIsGivenUpHoldsNobody) {
  fails_ = {"a1"};
  context_.retry.attempts = 1;
  const auto sink = process_lines({"a1", "a2", "a3"});
  EXPECT_EQ(sink.of("a1").kind, Kind::kDead);
  EXPECT_EQ(sink.count(Kind::kDone), 2U);
}

TEST_F(BatchOrder, ADuplicateAmongThemUndoesNothing) {
  process_lines({"a2", "b1"});
  const std::size_t before = store_.begun.size();
  auto batch = lines({"a1", "a2", "a3", "b1", "b2"});
  std::int64_t row = 0;
  for (core::TrackedDelivery& delivery : batch) {
    delivery.arrival.row = RowTag{++row};
    store_.state.rows.insert(row);
  }
  const auto sink = process(StrategyKind::kDedupTable, batch);
  EXPECT_EQ(sink.count(Kind::kDone), 3U);
  EXPECT_EQ(sink.count(Kind::kDuplicate), 2U);
  EXPECT_EQ(store_.begun.size(), before + 1);
  EXPECT_TRUE(store_.state.rows.empty());
}

TEST_F(BatchOrder, AStopCommitsWhatHadBegunAndLeavesTheRest) {
  monitor_.stop_at_begin = [](std::size_t at) { return at >= 2; };
  const auto sink = process_lines({"a1", "a2", "a3", "a4"});
  EXPECT_EQ(sink.count(Kind::kDone), 2U);
  EXPECT_EQ(effects("a2"), 1);
  for (const char* key : {"a3", "a4"}) EXPECT_TRUE(is_left(sink.of(key))) << key;
  EXPECT_EQ(store_.begun.size(), 1U);
}

// Rows are locked in an order of their own, which differs from the order of the messages.
TEST_F(BatchOrder, TheStatementsOfAKeyKeepItsOrder) {
  const auto sink = process_lines({"a9", "b8", "a5", "b7", "a1"});
  EXPECT_EQ(sink.count(Kind::kDone), 5U);
  Names of_a, of_b;
  for (const std::string& name : store_.state.made) {
    (name.front() == 'a' ? of_a : of_b).push_back(name);
  }
  EXPECT_EQ(of_a, Names({"a9", "a5", "a1"}));
  EXPECT_EQ(of_b, Names({"b8", "b7"}));
}

}  // namespace
}  // namespace semel::strategies
