// A runner whose source brings messages that are older than records are kept.
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/admin/records.h>
#include <semel/reason.h>
#include <semel/runner.h>
#include <semel/sqlite.h>

#include "core/failpoints.h"
#include "examples/runner-own-source/spool_source.h"
#include "tests/support/failpoints.h"
#include "tests/support/recording_observer.h"
#include "tests/support/temp_dir.h"

namespace semel::test {
namespace {

using std::chrono::days;

// A folder of messages, whose names begin with their age in days.
class AgedSpool final : public Source {
 public:
  AgedSpool(SourceTraits traits, std::string folder)
      : spool_(std::move(folder), false), traits_(traits) {
    traits_.ends = true;
  }
  const SourceTraits& traits() const noexcept override { return traits_; }
  Result<Received> receive(const ReceiveLimits& limits) override {
    auto received = spool_.receive(limits);
    if (!received) return received;
    for (Arrival& arrival : received->arrivals) {
      const int age = std::stoi(arrival.payload.substr(arrival.payload.find(':') + 1));
      arrival.broker_time = std::chrono::system_clock::now() - days(age) - std::chrono::minutes(1);
    }
    return received;
  }
  Wakeup wakeup() override { return spool_.wakeup(); }
  Result<void> settle(std::span<const Settlement> settlements) override {
    return spool_.settle(settlements);
  }
  Result<void> extend(std::span<const Tag> tags, std::chrono::milliseconds by) override {
    return spool_.extend(tags, by);
  }
  void set_paused(std::string_view partition, bool paused) override {
    spool_.set_paused(partition, paused);
  }
  Result<void> close(std::chrono::milliseconds deadline) override { return spool_.close(deadline); }

 private:
  SpoolSource spool_;
  SourceTraits traits_;
};

// Records are kept for 28 days, twice the horizon of the source.
constexpr int kTooOld = 27;
constexpr int kInTime = 20;

class RunnerWithAgedSource : public ::testing::Test {
 protected:
  RunnerWithAgedSource() { std::filesystem::create_directory(spool()); }

  std::string spool() const { return folder_.file("spool"); }
  void send(const std::string& id, int age) const {
    write_file(spool() + "/" + id, R"({"age":)" + std::to_string(age) + R"(,"id":")" + id + "\"}");
  }
  std::unique_ptr<Store> open() const {
    SqliteOptions options;
    options.path = folder_.file("bank.db");
    return open_sqlite(std::move(options)).value();
  }
  ConsumerOptions consumer(const std::string& strategy, ConfigValues settings = {}) const {
    ConsumerOptions made;
    made.name = "payments";
    FromOwn own{SpoolSource::kTraits, nullptr};
    own.traits.horizon = days(14);
    own.make = [traits = own.traits, folder = spool()](const auto&) {
      return Result<std::unique_ptr<Source>>(std::make_unique<AgedSpool>(traits, folder));
    };
    made.source = own;
    made.key = {"json:/id"};
    made.handler = PlainHandler([calls = folder_.file("calls")](const Message& m, const Attempt&) {
      std::ofstream(calls, std::ios::app) << m.key().text << "\n";
      return done();
    });
    made.settings = std::move(settings);
    made.settings.emplace_back("strategy", strategy);
    return made;
  }
  std::string calls() const {
    const std::string file = folder_.file("calls");
    return std::filesystem::exists(file) ? read_file(file) : "";
  }
  static int run(Store& store, ConsumerOptions options) {
    RecordingObserver seen;
    Runner runner(store);
    runner.add(std::move(options)).observe(seen).once();
    return runner.run();
  }
  static std::vector<RecordView> parked(Store& store) {
    return store.facets().records->list(std::nullopt, RecordState::kParked, 10).value();
  }

  TempDir folder_;
};

TEST_F(RunnerWithAgedSource, WhatIsTooOldWaitsForAPersonWhoLetsItRun) {
  const auto store = open();
  for (const std::string strategy : {"state_machine", "fence", "at_most_once"}) {
    SCOPED_TRACE(strategy);
    send("old-" + strategy, kTooOld);
    send("young-" + strategy, kInTime);
    const std::string before = calls();
    ASSERT_EQ(run(*store, consumer(strategy)), 0);
    EXPECT_TRUE(std::filesystem::is_empty(spool())) << "the store keeps it";
    EXPECT_EQ(calls(), before + "young-" + strategy + "\n");
    const auto waiting = parked(*store);
    ASSERT_EQ(waiting.size(), 1U);
    EXPECT_EQ(waiting[0].key, "old-" + strategy);
    EXPECT_EQ(waiting[0].reason, reason::kTooOld);
    EXPECT_NE(waiting[0].error.find("27d old"), std::string::npos) << waiting[0].error;
    ASSERT_TRUE(store->facets().records->unlock(waiting[0].id).value());
    ASSERT_EQ(run(*store, consumer(strategy)), 0);
    EXPECT_EQ(calls(), before + "young-" + strategy + "\nold-" + strategy + "\n");
    EXPECT_TRUE(parked(*store).empty());
  }
}

TEST_F(RunnerWithAgedSource, HandleDiscardAndAnUnknownHorizon) {
  const auto store = open();
  send("discarded", kTooOld);
  ASSERT_EQ(run(*store, consumer("state_machine", {{"dedup.too_old", "discard"}})), 0);
  EXPECT_EQ(calls(), "");
  send("handled", kTooOld);
  ASSERT_EQ(run(*store, consumer("state_machine", {{"dedup.too_old", "handle"}})), 0);
  EXPECT_EQ(calls(), "handled\n");
  send("unknown", kTooOld);
  ConsumerOptions unknown = consumer("state_machine", {{"dedup.ttl", "28d"}});
  auto& own = std::get<FromOwn>(unknown.source);
  own.traits.horizon.reset();
  own.make = [traits = own.traits, folder = spool()](const auto&) {
    return Result<std::unique_ptr<Source>>(std::make_unique<AgedSpool>(traits, folder));
  };
  ASSERT_EQ(run(*store, unknown), 0);
  EXPECT_EQ(calls(), "handled\nunknown\n");
  EXPECT_TRUE(parked(*store).empty());
}

// Ends the process where it passes `point` for the first time.
int run_aged_and_die(const std::string& bank, ConsumerOptions consumer, std::string_view point) {
  const auto failpoints = make_failpoints({.point = std::string(point)});
  system_environment().failpoints = failpoints.get();
  SqliteOptions options;
  options.path = bank;
  const auto store = open_sqlite(std::move(options));
  if (!store) return 1;
  Runner runner(**store);
  runner.add(std::move(consumer)).once().prints(false);
  return runner.run();
}

TEST_F(RunnerWithAgedSource, KilledAnywhereAtTheGateItIsParkedAndNotHandled) {
  for (const std::string_view point :
       {failpoint::kReceived, failpoint::kClaimed, failpoint::kFinished, failpoint::kCommitBefore,
        failpoint::kCommitAfter, failpoint::kSettleBefore, failpoint::kSettleAfter}) {
    SCOPED_TRACE(point);
    const std::string id = "old-at-" + std::string(point);
    send(id, kTooOld);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::_exit(run_aged_and_die(folder_.file("bank.db"), consumer("state_machine"), point));
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the fault fired";
    const auto store = open();
    ASSERT_EQ(run(*store, consumer("state_machine")), 0);
    EXPECT_TRUE(std::filesystem::is_empty(spool()));
    const auto waiting = parked(*store);
    ASSERT_EQ(waiting.size(), 1U);
    EXPECT_EQ(waiting[0].key, id);
    EXPECT_EQ(calls(), "");
    ASSERT_TRUE(store->facets().records->forget(waiting[0].id).value());
  }
}

}  // namespace
}  // namespace semel::test
