#include "sources/broker/broker_source.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <memory>
#include <utility>

#include "core/delivery_ledger.h"
#include "tests/support/waiting.h"

namespace semel::broker {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSoon{1};
constexpr milliseconds kLong{60'000};

BrokerSourceSetup setup_of(bool follow) {
  return {.traits = {.name = "played"},
          .name = "Played",
          .partition = "payments",
          .follow = follow,
          .ack_pace = core::AckPace(2, kLong),
          .untold = {ErrorKind::kUnavailable, "R999", "not all was told", {}}};
}

// The test acts as the broker: it delivers messages and decides when the source's thread may end.
class PlayedSource final : public BrokerSource {
 public:
  explicit PlayedSource(bool follow = true)
      : BrokerSource(setup_of(follow), system_environment()) {}
  ~PlayedSource() override { die(); }

  void bring(const Bytes& payload) {
    const system::MutexLock lock(mutex_);
    Arrival arrival;
    arrival.payload = payload;
    ledger_.arrived(++last_, std::move(arrival));
    ++changes_;
    event_.signal();
  }
  void say_end() {
    const system::MutexLock lock(mutex_);
    reach_end();
  }
  void say_away(bool away) {
    const system::MutexLock lock(mutex_);
    if (!away) return away_.reset();
    set_away({ErrorKind::kUnavailable, "R998", "away", {}});
  }
  void say_final() {
    const system::MutexLock lock(mutex_);
    set_final({ErrorKind::kRejected, "R997", "the first", {}});
    set_final({ErrorKind::kRejected, "R997", "the second", {}});
  }
  void say(const std::string& text) {
    const system::MutexLock lock(mutex_);
    notice(text);
  }
  void hang(bool hangs) { hangs_ = hangs; }
  bool has_left() const { return has_left_; }
  int interrupted() const { return interrupted_; }
  int cut_off() const { return cut_; }
  int wakes() const { return wakes_; }

 private:
  void run() override {
    while (!stopping()) rest(kLong);
    test::comes_true([this] { return !hangs_ || interrupted_ > 0; });
    const system::MutexLock lock(mutex_);
    all_told_ = !hangs_;
    has_left_ = true;
  }
  void wake() noexcept override { ++wakes_; }
  void interrupt() noexcept override { ++interrupted_; }
  // Like a real cut, it waits for a thread that is settling.
  void cut() noexcept override {
    const system::MutexLock lock(mutex_);
    ++cut_;
  }
  bool hand_out(std::vector<Arrival>& into) SEMEL_REQUIRES(mutex_) override {
    const auto taken = ledger_.take();
    if (taken.value == nullptr) return false;
    into.push_back(*taken.value);
    into.back().tag = {taken.position, 1};
    return true;
  }
  bool has_waiting() const noexcept SEMEL_REQUIRES(mutex_) override {
    return ledger_.has_waiting();
  }
  std::size_t open() const noexcept SEMEL_REQUIRES(mutex_) override { return ledger_.open(); }
  bool settle_one(const Settlement& settlement) SEMEL_REQUIRES(mutex_) override {
    if (!ledger_.settle(settlement.tag.value, settlement.kind)) return false;
    if (settlement.kind == Settlement::Kind::kAck) ++untold_;
    return true;
  }
  std::size_t untold() const noexcept SEMEL_REQUIRES(mutex_) override { return untold_; }

  core::DeliveryLedger<Arrival> ledger_ SEMEL_GUARDED_BY(mutex_);
  std::uint64_t last_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::size_t untold_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::atomic<bool> hangs_ = false;
  std::atomic<bool> has_left_ = false;
  std::atomic<int> interrupted_ = 0;
  std::atomic<int> cut_ = 0;
  std::atomic<int> wakes_ = 0;
};

std::vector<Bytes> received_by(Source& source, const ReceiveLimits& limits = {}) {
  const Received received = source.receive(limits).value();
  std::vector<Bytes> payloads;
  for (const Arrival& arrival : received.arrivals) payloads.push_back(arrival.payload);
  return payloads;
}

bool is_readable(Source& source) {
  pollfd entry{source.wakeup().fd, POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

void settle_of(Source& source, std::uint64_t tag, Settlement::Kind kind = Settlement::Kind::kAck) {
  const Settlement settlement{{tag, 1}, kind, milliseconds(0)};
  EXPECT_TRUE(source.settle({&settlement, 1}));
}

TEST(BrokerSource, ItsThreadBeginsWithTheFirstReceiveAndEndsWithIt) {
  auto source = std::make_unique<PlayedSource>();
  EXPECT_EQ(source->wakeup().due_in, milliseconds(0)) << "nobody has looked";
  EXPECT_TRUE(received_by(*source).empty());
  EXPECT_FALSE(source->wakeup().due_in);
  EXPECT_FALSE(source->has_left());
  source->say("something");
  EXPECT_TRUE(is_readable(*source));
  EXPECT_EQ(source->receive({}).value().notices, std::vector<std::string>{"something"});
  EXPECT_TRUE(source->receive({}).value().notices.empty()) << "once";
  source.reset();  // waits for the thread
}

TEST(BrokerSource, LimitsCutOffWhatComesNext) {
  PlayedSource source;
  for (const char* payload : {"one", "two", "three", "four"}) source.bring(payload);
  EXPECT_EQ(received_by(source, {2, 1000}), (std::vector<Bytes>{"one", "two"}));
  EXPECT_EQ(source.wakeup().due_in, milliseconds(0)) << "there is more";
  EXPECT_EQ(received_by(source, {100, 4}), std::vector<Bytes>({"three"})) << "five bytes of four";
  EXPECT_EQ(received_by(source), std::vector<Bytes>{"four"});
  EXPECT_FALSE(source.wakeup().due_in);
}

TEST(BrokerSource, APauseIsOfAllOrOfItsPartition) {
  PlayedSource source;
  source.bring("one");
  for (const char* partition : {"", "payments"}) {
    source.set_paused(partition, true);
    EXPECT_TRUE(received_by(source).empty()) << partition;
    source.set_paused(partition, false);
    EXPECT_TRUE(is_readable(source)) << partition;
  }
  source.set_paused("another", true);
  EXPECT_EQ(received_by(source), std::vector<Bytes>{"one"});
}

TEST(BrokerSource, SettlementsWakeTheThreadWhereItHasSomethingToDo) {
  PlayedSource source;
  for (const char* payload : {"one", "two", "three"}) source.bring(payload);
  EXPECT_EQ(received_by(source).size(), 3U);
  const int before = source.wakes();
  settle_of(source, 1);
  EXPECT_EQ(source.wakes(), before + 1) << "the first one";
  settle_of(source, 1);
  EXPECT_EQ(source.wakes(), before + 1) << "settled before";
  settle_of(source, 2);
  EXPECT_EQ(source.wakes(), before + 2) << "many now";
  settle_of(source, 3, Settlement::Kind::kRelease);
  EXPECT_EQ(source.wakes(), before + 2);
  EXPECT_TRUE(is_readable(source));
  EXPECT_EQ(received_by(source), std::vector<Bytes>{"three"});
}

TEST(BrokerSource, TheEndIsThatOfTheLastChange) {
  PlayedSource source(false);
  EXPECT_TRUE(source.traits().ends);
  EXPECT_FALSE(source.receive({}).value().at_end) << "nobody has said so";
  source.say_end();
  EXPECT_TRUE(source.receive({}).value().at_end);
  source.bring("one");
  EXPECT_FALSE(source.receive({}).value().at_end);
  source.say_end();
  settle_of(source, 1, Settlement::Kind::kRelease);
  EXPECT_FALSE(source.receive({}).value().at_end) << "it waits again";
  settle_of(source, 1);
  source.say_end();
  EXPECT_TRUE(source.receive({}).value().at_end);
  EXPECT_FALSE(PlayedSource(true).traits().ends);
}

TEST(BrokerSource, BeingAwayPassesAndTheFirstFinalErrorStays) {
  PlayedSource source;
  source.say_away(true);
  EXPECT_EQ(source.receive({}).error().code, "R998");
  source.say_away(false);
  EXPECT_TRUE(source.receive({}));
  source.say_final();
  EXPECT_EQ(source.receive({}).error().message, "the first");
  EXPECT_TRUE(test::comes_true([&] { return source.has_left(); }));
}

TEST(BrokerSource, ACloseWaitsForItsThread) {
  PlayedSource source;
  EXPECT_TRUE(source.receive({}));
  EXPECT_TRUE(source.close(kLong));
  EXPECT_TRUE(source.has_left());
  EXPECT_EQ(source.interrupted(), 0);
  EXPECT_EQ(source.receive({}).error().message, "the Played source was closed");
  EXPECT_TRUE(source.close(kLong)) << "again";
}

TEST(BrokerSource, AThreadThatHangsIsInterruptedAndWhatItHadIsUntold) {
  PlayedSource source;
  source.hang(true);
  EXPECT_TRUE(source.receive({}));
  const auto closed = source.close(kSoon);
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, "R999");
  EXPECT_EQ(source.interrupted(), 1);
  EXPECT_EQ(source.cut_off(), 1);
}

TEST(BrokerSource, OneThatWasNeverReceivedFromClosesAtOnce) {
  PlayedSource source;
  source.hang(true);
  EXPECT_TRUE(source.close(kSoon));
  EXPECT_EQ(source.interrupted(), 0);
}

}  // namespace
}  // namespace semel::broker
