// Rows of the fault table for work outside of the store: the machine loses power while the call is
// made, and the disk is full.
#include <gtest/gtest.h>

#include <memory>

#include <semel/reason.h>
#include <semel/sqlite.h>

#include "stores/sqlite/store.h"
#include "tests/conformance/strategy/strategy_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/unsynced_vfs.h"

namespace semel::strategies {
namespace {

using core::StrategyKind;
using Kind = Outcome::Kind;
using Settle = Outcome::Settle;

class OnAFailingDisk : public StrategyFixture, public testing::WithParamInterface<StrategyKind> {
 protected:
  OnAFailingDisk() {
    context_.claim.lease = kLease;
    context_.handler = PlainHandler([this](const Message& message, const Attempt&) {
      ++calls_[message.key().text];
      if (in_mid_call_) std::exchange(in_mid_call_, nullptr)();
      return done();
    });
    open();
  }
  bool at_most_once() const { return GetParam() == StrategyKind::kAtMostOnce; }

  void open() {
    SqliteOptions options;
    options.path = folder_.file("store.db");
    options.vfs = semel::test::UnsyncedVfs::name();
    auto opened = sqlite::open_store(std::move(options), clock_);
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    store_of_disk_ = *std::move(opened);
    context_.store = store_of_disk_.get();
    number_ = store_of_disk_->attach({"payments", "recipe", false, {}}).value();
  }
  Outcome handle(const std::string& key) {
    std::vector<core::TrackedDelivery> one;
    one.push_back(semel::test::make_delivery(number_, key, "{}"));
    return process(GetParam(), one).of(key);
  }
  // Until the lease of who did not come to its end is over.
  Outcome handle_at_last(const std::string& key) {
    const Outcome outcome = handle(key);
    if (outcome.kind != Kind::kBusy) return outcome;
    clock_->advance(kLease);
    return handle(key);
  }
  void lose_power() { lost_ += disk_.cut_power(); }
  void power_again() {
    store_of_disk_.reset();
    disk_.restore_power(folder_.file("store.db"));
    open();
  }

  static constexpr std::chrono::minutes kLease{1};
  const std::shared_ptr<sqlite::MovedStoreClock> clock_ =
      std::make_shared<sqlite::MovedStoreClock>();
  semel::test::TempDir folder_;
  semel::test::UnsyncedVfs disk_;
  std::unique_ptr<Store> store_of_disk_;
  std::map<Bytes, int> calls_;
  std::function<void()> in_mid_call_;
  std::size_t lost_ = 0;
  ConsumerNumber number_{};
};

TEST_P(OnAFailingDisk, PowerIsLostInMidCall) {
  in_mid_call_ = [this] { lose_power(); };
  const Outcome dark = handle("k");
  EXPECT_TRUE(dark.settle == Settle::kLater || dark.settle == Settle::kRelease)
      << "what is not on disk was acknowledged";
  power_again();
  const Outcome again = handle_at_last("k");
  if (at_most_once()) {
    EXPECT_EQ(again.reason, reason::kLeaseParked) << "its claim was on disk before the call";
    EXPECT_EQ(calls_["k"], 1);
  } else {
    EXPECT_EQ(again.kind, Kind::kDone);
    EXPECT_EQ(calls_["k"], 2) << "the table says >=1: it shows";
  }
}

TEST_P(OnAFailingDisk, PowerIsLostBehindTheRecord) {
  EXPECT_EQ(handle("k").kind, Kind::kDone);
  lose_power();
  power_again();
  EXPECT_EQ(handle("k").kind, Kind::kDuplicate);
  EXPECT_EQ(calls_["k"], 1);
}

TEST_P(OnAFailingDisk, AFullDiskBeforeTheClaim) {
  disk_.set_room(0);
  const Outcome full = handle("k");
  EXPECT_TRUE(full.settle == Settle::kLater || full.settle == Settle::kRelease);
  EXPECT_GT(disk_.refused(), 0U) << "the fault did not fire";
  EXPECT_EQ(calls_["k"], 0) << "it began without a claim";
  disk_.set_room(-1);
  EXPECT_EQ(handle("k").kind, Kind::kDone);
  EXPECT_EQ(calls_["k"], 1);
}

TEST_P(OnAFailingDisk, AFullDiskBehindTheCall) {
  in_mid_call_ = [this] { disk_.set_room(0); };
  const Outcome full = handle("k");
  EXPECT_GT(disk_.refused(), 0U) << "the fault did not fire";
  EXPECT_TRUE(full.settle == Settle::kLater || full.settle == Settle::kRelease)
      << "what is not on disk was acknowledged";
  disk_.set_room(-1);
  // Its process ends, as one may whose disk is full.
  store_of_disk_.reset();
  open();
  handle_at_last("k");
  EXPECT_EQ(calls_["k"], at_most_once() ? 1 : 2);
}

INSTANTIATE_TEST_SUITE_P(Strategies, OnAFailingDisk,
                         testing::Values(StrategyKind::kStateMachine, StrategyKind::kFence,
                                         StrategyKind::kAtMostOnce),
                         [](const auto& info) { return std::string(core::to_string(info.param)); });

}  // namespace
}  // namespace semel::strategies
