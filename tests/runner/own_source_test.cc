// A runner on a store that the program has opened, with a source of the program's own.
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <semel/guard.h>
#include <semel/runner.h>
#include <semel/sqlite.h>

#include "core/failpoints.h"
#include "examples/runner-own-source/spool_source.h"

#include "stores/sqlite/other_program.h"
#include "tests/support/failpoints.h"
#include "tests/support/recording_observer.h"
#include "tests/support/temp_dir.h"

namespace semel::test {
namespace {

constexpr const char* kBankTables =
    "CREATE TABLE account(id TEXT PRIMARY KEY, balance INTEGER NOT NULL);"
    "INSERT INTO account VALUES ('ada', 100);";
constexpr int kSpooled = 5;
// Amounts of 1, 2, 4, …: a payment that is lost or doubled shows by name.
constexpr std::int64_t kSpooledAmount = (1 << kSpooled) - 1;

Verdict pay_spooled(const Message& message, Transaction& tx) {
  tx.exec("UPDATE account SET balance = balance + ? WHERE id = 'ada'",
          message.json<int>("/amount"));
  return done();
}

class RunnerWithOwnSource : public ::testing::Test {
 protected:
  RunnerWithOwnSource() {
    bank_.run(kBankTables);
    std::filesystem::create_directory(spool());
    fill_spool();
  }

  std::string spool() const { return folder_.file("spool"); }
  void fill_spool() const {
    for (int i = 0; i < kSpooled; ++i) {
      write_file(
          spool() + "/p-" + std::to_string(i),
          "{\"id\":\"p-" + std::to_string(i) + "\",\"amount\":" + std::to_string(1 << i) + "}");
    }
  }
  bool spool_is_empty() const { return std::filesystem::is_empty(spool()); }
  std::unique_ptr<Store> open_bank() const {
    SqliteOptions options;
    options.path = folder_.file("bank.db");
    return open_sqlite(std::move(options)).value();
  }
  ConsumerOptions payments(Handler handler = pay_spooled) const {
    ConsumerOptions consumer;
    consumer.name = "payments";
    consumer.source = from_spool(spool());
    consumer.key = {"json:/id"};
    consumer.handler = std::move(handler);
    return consumer;
  }
  std::int64_t balance() {
    return std::get<std::int64_t>(bank_.run("SELECT balance FROM account").rows.at(0).at(0));
  }

  TempDir folder_;
  sqlite::OtherProgram bank_{folder_.file("bank.db")};
};

// The same folder under traits of the test's.
class SpoolUnder final : public Source {
 public:
  SpoolUnder(SourceTraits traits, std::string folder)
      : spool_(std::move(folder), false), traits_(traits) {
    traits_.ends = true;
  }
  const SourceTraits& traits() const noexcept override { return traits_; }
  Result<Received> receive(const ReceiveLimits& limits) override { return spool_.receive(limits); }
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

// Empty: it did not throw.
std::string code_thrown(const std::function<void()>& call) {
  try {
    call();
  } catch (const SemelError& thrown) {
    return thrown.error().code;
  }
  return "";
}

TEST_F(RunnerWithOwnSource, HandlesEachMessageOnceOnTheStoreOfItsHost) {
  const auto store = open_bank();
  for (int run = 0; run < 2; ++run) {
    fill_spool();
    RecordingObserver seen;
    Runner runner(*store);
    runner.add(payments()).observe(seen).once();
    EXPECT_EQ(runner.run(), 0);
    EXPECT_EQ(seen.ended().size(), static_cast<std::size_t>(kSpooled));
    EXPECT_TRUE(spool_is_empty());
    EXPECT_EQ(balance(), 100 + kSpooledAmount) << "run " << run;
  }
  // The store is the host's still.
  Guard guard(*store, {.consumer = "host"});
  const auto outcome = guard.run_once("h-1", fingerprint_of("h-1"), [] {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->kind, Outcome::Kind::kDone);
}

TEST_F(RunnerWithOwnSource, AStoreThatIsGivenAwayLivesAsLongAsTheRunner) {
  std::weak_ptr<Store> watched;
  RecordingObserver seen;
  {
    const auto made = [&] {
      const std::shared_ptr<Store> store = open_bank();
      watched = store;
      auto runner = std::make_unique<Runner>(store);
      runner->add(payments()).observe(seen).once();
      return runner;
    }();
    EXPECT_FALSE(watched.expired());
    Runner runner = std::move(*made);
    EXPECT_EQ(runner.run(), 0);
  }
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(balance(), 100 + kSpooledAmount);
  EXPECT_EQ(code_thrown([] { Runner runner(std::shared_ptr<Store>{}); }), "E069");
}

// Ends the process where a message passes `point` for the first time.
int run_and_die(const std::string& bank, ConsumerOptions consumer, std::string_view point) {
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

TEST_F(RunnerWithOwnSource, KilledAnywhereAndStartedAgainHasEachEffectOnce) {
  std::int64_t expected = 100;
  for (const std::string_view point :
       {failpoint::kReceived, failpoint::kHandlerBefore, failpoint::kHandlerAfter,
        failpoint::kFinished, failpoint::kCommitBefore, failpoint::kCommitAfter,
        failpoint::kSettleBefore, failpoint::kSettleAfter, failpoint::kDrained}) {
    SCOPED_TRACE(point);
    fill_spool();
    // Its own records at each point.
    std::string name = "killed-" + std::string(point);
    std::ranges::replace(name, '.', '-');
    ConsumerOptions consumer = payments();
    consumer.name = name;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(run_and_die(folder_.file("bank.db"), std::move(consumer), point));
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the fault fired";
    if (point != failpoint::kSettleAfter && point != failpoint::kDrained) {
      EXPECT_FALSE(spool_is_empty()) << "nothing is acknowledged before its record";
    }
    const auto store = open_bank();
    RecordingObserver seen;
    Runner runner(*store);
    consumer.name = name;
    runner.add(std::move(consumer)).observe(seen).once();
    EXPECT_EQ(runner.run(), 0);
    EXPECT_TRUE(spool_is_empty());
    expected += kSpooledAmount;
    EXPECT_EQ(balance(), expected);
  }
}

TEST_F(RunnerWithOwnSource, AConfigNamesItAndTheProgramRegistersIt) {
  const std::string config = "store: { sqlite: " + folder_.file("bank.db") +
                             " }\nconsumers:\n  - name: payments\n    source: { native: spool }\n"
                             "    key: json:/id\n";
  RecordingObserver seen;
  Runner runner = Runner::from_text(config);
  EXPECT_EQ(code_thrown([&] { runner.source("other", from_spool(spool())); }), "E062");
  runner.source("spool", from_spool(spool())).on("payments", pay_spooled).observe(seen).once();
  EXPECT_EQ(runner.run(), 0);
  EXPECT_EQ(balance(), 100 + kSpooledAmount);

  Runner without = Runner::from_text(config);
  without.on("payments", pay_spooled).prints(false);
  EXPECT_EQ(without.run(), 78);
  ASSERT_TRUE(without.error());
  EXPECT_EQ(without.error()->code, "E060");
}

TEST_F(RunnerWithOwnSource, ASourceIsWhatItDeclares) {
  const auto store = open_bank();
  Runner refusing(*store);
  ConsumerOptions none = payments();
  none.source = FromOwn{SpoolSource::kTraits, nullptr};
  EXPECT_EQ(code_thrown([&] { refusing.add(none); }), "E068");
  ConsumerOptions of_the_store = payments();
  std::get<FromOwn>(of_the_store.source).traits.in_store = true;
  EXPECT_EQ(code_thrown([&] { refusing.add(of_the_store); }), "E068");

  ConsumerOptions other = payments();
  std::get<FromOwn>(other.source).traits.redelivers = true;
  ConsumerOptions empty = payments();
  std::get<FromOwn>(empty.source).make =
      [](const SourceRequest&) -> Result<std::unique_ptr<Source>> { return nullptr; };
  for (const ConsumerOptions& wrong : {other, empty}) {
    Runner runner(*store);
    runner.add(wrong).once().prints(false);
    EXPECT_EQ(runner.run(), 78);
    ASSERT_TRUE(runner.error());
    EXPECT_EQ(runner.error()->code, "E068");
  }
}

TEST_F(RunnerWithOwnSource, RecordsThatEndBeforeItsRedeliveriesRefuseToRun) {
  const auto store = open_bank();
  ConsumerOptions late = payments();
  std::get<FromOwn>(late.source).traits.horizon = std::chrono::hours(14 * 24);
  const FromOwn own = std::get<FromOwn>(late.source);
  std::get<FromOwn>(late.source).make = [traits = own.traits, folder = spool()](const auto&) {
    return Result<std::unique_ptr<Source>>(std::make_unique<SpoolUnder>(traits, folder));
  };
  ConsumerOptions kept_for_long = late;
  late.settings = {{"dedup.ttl", "1d"}};
  {
    Runner runner(*store);
    runner.add(late).once().prints(false);
    EXPECT_EQ(runner.run(), 78);
    ASSERT_TRUE(runner.error());
    EXPECT_EQ(runner.error()->code, "D102");
    EXPECT_NE(runner.error()->message.find("1d"), std::string::npos);
    EXPECT_NE(runner.error()->message.find("14d"), std::string::npos);
    EXPECT_FALSE(spool_is_empty());
  }
  ConsumerOptions knowingly = late;
  knowingly.settings.emplace_back("accept", "D102");
  for (const ConsumerOptions& consumer : {knowingly, kept_for_long}) {
    fill_spool();
    RecordingObserver seen;
    Runner runner(*store);
    runner.add(consumer).observe(seen).once();
    EXPECT_EQ(runner.run(), 0);
    EXPECT_TRUE(spool_is_empty());
  }
  EXPECT_EQ(balance(), 100 + kSpooledAmount);
}

TEST_F(RunnerWithOwnSource, AFactoryThatFailsKeepsTheRunFromBeginning) {
  const auto store = open_bank();
  ConsumerOptions away = payments();
  std::get<FromOwn>(away.source).make =
      [](const SourceRequest&) -> Result<std::unique_ptr<Source>> {
    return failure({ErrorKind::kUnavailable, {}, "the spool is not mounted", {}});
  };
  Runner runner(*store);
  runner.add(std::move(away)).prints(false);
  EXPECT_EQ(runner.run(), 69);
  ASSERT_TRUE(runner.error());
  EXPECT_EQ(runner.error()->message, "consumer \"payments\": the spool is not mounted");
}

// A source that brings nothing but an error.
class BrokenSource final : public Source {
 public:
  explicit BrokenSource(Error error) : error_(std::move(error)) {}
  const SourceTraits& traits() const noexcept override { return SpoolSource::kTraits; }
  Result<Received> receive(const ReceiveLimits&) override { return failure(error_); }
  Wakeup wakeup() override { return {.due_in = std::chrono::milliseconds(0)}; }
  Result<void> settle(std::span<const Settlement>) override { return {}; }
  Result<void> extend(std::span<const Tag>, std::chrono::milliseconds) override { return {}; }
  void set_paused(std::string_view, bool) override {}
  Result<void> close(std::chrono::milliseconds) override { return {}; }

 private:
  const Error error_;
};

TEST_F(RunnerWithOwnSource, AFinalErrorEndsTheRunAndIsItsError) {
  const auto store = open_bank();
  for (const auto& [kind, code] :
       {std::pair(ErrorKind::kRejected, 78), std::pair(ErrorKind::kLimit, 78),
        std::pair(ErrorKind::kInDoubt, 69)}) {
    ConsumerOptions broken = payments();
    std::get<FromOwn>(broken.source).make =
        [kind = kind](const SourceRequest&) -> Result<std::unique_ptr<Source>> {
      return std::make_unique<BrokenSource>(Error{kind, {}, "the spool is no spool", {}});
    };
    Runner runner(*store);
    runner.add(std::move(broken)).prints(false);
    EXPECT_EQ(runner.run(), code);
    ASSERT_TRUE(runner.error());
    EXPECT_EQ(runner.error()->message, "the spool is no spool");
    EXPECT_EQ(runner.error()->kind, kind);
  }
}

// Keeps records and nothing else, as a store of somebody's own may.
class RecordsAlone final : public Store {
 public:
  explicit RecordsAlone(Store& store) : store_(store) {}
  const StoreTraits& traits() const noexcept override { return kTraits; }
  StoreFacets facets() noexcept override { return {}; }
  Result<ConsumerNumber> attach(const ConsumerSpec& spec) override { return store_.attach(spec); }
  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override {
    return store_.claim(messages, options);
  }
  Result<std::vector<Applied>> renew(std::span<const Lease> leases,
                                     std::chrono::milliseconds lease) override {
    return store_.renew(leases, lease);
  }
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    return store_.finish(batch);
  }
  Result<PurgeReport> purge(std::chrono::milliseconds budget) override {
    return store_.purge(budget);
  }

 private:
  static constexpr StoreTraits kTraits{.name = "records", .durable = true};
  Store& store_;
};

TEST_F(RunnerWithOwnSource, AStoreWithoutMessagesIsRefused) {
  const auto store = open_bank();
  RecordsAlone records(*store);
  Runner runner(records);
  runner.add(payments(make_handler([](const Message&) { return done(); }))).prints(false);
  EXPECT_EQ(runner.run(), 78);
  ASSERT_TRUE(runner.error());
  EXPECT_EQ(runner.error()->code, "R267");
}

TEST_F(RunnerWithOwnSource, WhileItRunsItIsNotChanged) {
  const auto store = open_bank();
  std::atomic<bool> begun{false};
  std::atomic<bool> release{false};
  ConsumerOptions consumer = payments([&](const Message& message, Transaction& tx) {
    begun = true;
    begun.notify_all();
    release.wait(false);
    return pay_spooled(message, tx);
  });
  RecordingObserver seen;
  Runner runner(*store);
  runner.add(std::move(consumer)).observe(seen).once();
  int code = -1;
  std::thread running([&] { code = runner.run(); });
  begun.wait(false);
  ConsumerOptions another = payments();
  another.name = "another";
  EXPECT_EQ(code_thrown([&] { runner.add(another); }), "E067");
  EXPECT_EQ(code_thrown([&] { runner.observe(seen); }), "E067");
  EXPECT_EQ(code_thrown([&] { runner.key("payments", nullptr); }), "E067");
  EXPECT_EQ(code_thrown([&] { (void)runner.error(); }), "E067");
  EXPECT_EQ(code_thrown([&] { (void)runner.run(); }), "E067");
  release = true;
  release.notify_all();
  running.join();
  EXPECT_EQ(code, 0);
  EXPECT_EQ(balance(), 100 + kSpooledAmount);
  EXPECT_EQ(code_thrown([&] { runner.add(another); }), "") << "it has returned";
}

// Several threads set it up and begin it: each call is made whole, or refused.
TEST_F(RunnerWithOwnSource, SetUpByManyThreadsItLosesNoCall) {
  const auto store = open_bank();
  RecordingObserver seen;
  Runner runner(*store);
  runner.add(payments()).observe(seen).once();
  std::atomic<int> added{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      ConsumerOptions one = payments();
      one.name = "payments-" + std::to_string(i);
      one.source = FromQueue{};
      if (code_thrown([&] { runner.add(one); }).empty()) ++added;
    });
  }
  EXPECT_EQ(runner.run(), 0);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(balance(), 100 + kSpooledAmount);
  for (int i = 0; i < 4; ++i) {
    ConsumerOptions one = payments();
    one.name = "payments-" + std::to_string(i);
    one.source = FromQueue{};
    if (code_thrown([&] { runner.add(one); }).empty()) ++added;
  }
  EXPECT_EQ(added, 4) << "each name is taken once";
}

// A stop does not wait for what it stops, so it may come from there.
TEST_F(RunnerWithOwnSource, AnythingThatItCallsMayStopIt) {
  const auto store = open_bank();
  struct StopsAtOnce final : Observer {
    explicit StopsAtOnce(Runner& stopped) : runner(stopped) {}
    void on_consumer(const ConsumerInfo&) noexcept override { runner.stop(); }
    Runner& runner;
  };
  {
    Runner runner(*store);
    StopsAtOnce at_its_beginning(runner);
    runner.add(payments()).observe(at_its_beginning);
    EXPECT_EQ(runner.run(), 0);
  }
  {
    RecordingObserver seen;
    Runner runner(*store);
    runner.add(payments([&runner](const Message& message, Transaction& tx) {
      runner.stop();
      return pay_spooled(message, tx);
    }));
    runner.observe(seen);
    EXPECT_EQ(runner.run(), 0);
  }
  {
    RecordingObserver seen;
    Runner runner(*store);
    ConsumerOptions consumer = payments();
    std::get<FromOwn>(consumer.source).make =
        [&, folder = spool()](const SourceRequest& request) -> Result<std::unique_ptr<Source>> {
      runner.stop();
      return std::make_unique<SpoolSource>(folder, request.follow);
    };
    runner.add(std::move(consumer)).observe(seen);
    EXPECT_EQ(runner.run(), 0);
  }
}

TEST_F(RunnerWithOwnSource, AStopIsForOneRun) {
  const auto store = open_bank();
  RecordingObserver seen;
  Runner runner(*store);
  runner.add(payments()).observe(seen);
  runner.stop();
  EXPECT_EQ(runner.run(), 0) << "without a source at its end";
  runner.once();
  EXPECT_EQ(runner.run(), 0);
  EXPECT_TRUE(spool_is_empty());
  EXPECT_EQ(balance(), 100 + kSpooledAmount);
}

}  // namespace
}  // namespace semel::test
