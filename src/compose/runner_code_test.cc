// A runner whose consumers are defined in code, in a host that keeps its own signals, stderr and
// process.
#include <signal.h>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <semel/runner.h>

#include "stores/sqlite/other_program.h"
#include "tests/support/recording_observer.h"
#include "tests/support/temp_dir.h"

namespace semel::compose {
namespace {

constexpr const char* kAccounts =
    "CREATE TABLE account(id TEXT PRIMARY KEY, balance INTEGER NOT NULL);"
    "INSERT INTO account VALUES ('ada', 100);";

Verdict pay_account(const Message& message, Transaction& tx) {
  tx.exec("UPDATE account SET balance = balance + ? WHERE id = 'ada'",
          message.json<int>("/amount"));
  return done();
}

class RunnerFromCode : public ::testing::Test {
 protected:
  RunnerFromCode() {
    bank_.run(kAccounts);
    test::write_file(folder_.file("payments.jsonl"),
                     "{\"id\":\"p-1\",\"amount\":5}\n{\"id\":\"p-1\",\"amount\":5}\n"
                     "{\"id\":\"p-2\",\"amount\":20}\n");
  }

  RunnerStore store() const {
    SqliteOptions options;
    options.path = folder_.file("bank.db");
    return options;
  }
  ConsumerOptions payments(Handler handler = pay_account) const {
    ConsumerOptions consumer;
    consumer.name = "payments";
    consumer.source = FromFile{folder_.file("payments.jsonl")};
    consumer.key = {"json:/id"};
    consumer.handler = std::move(handler);
    return consumer;
  }
  std::int64_t balance() {
    return std::get<std::int64_t>(bank_.run("SELECT balance FROM account").rows.at(0).at(0));
  }

  test::TempDir folder_;
  sqlite::OtherProgram bank_{folder_.file("bank.db")};
};

std::string refusal_of_add(Runner& runner, ConsumerOptions consumer) {
  try {
    runner.add(std::move(consumer));
  } catch (const SemelError& refused) {
    return refused.error().code + ": " + refused.error().message;
  }
  return "";
}

TEST_F(RunnerFromCode, HandlesEachMessageOnce) {
  for (int run = 0; run < 2; ++run) {
    test::RecordingObserver seen;
    Runner runner(store());
    runner.add(payments()).observe(seen).once();
    EXPECT_EQ(runner.run(), 0);
    EXPECT_FALSE(runner.error());
    EXPECT_EQ(balance(), 125) << "run " << run;
  }
}

TEST_F(RunnerFromCode, ItsSettingsAreThoseOfAConfig) {
  std::atomic<int> tries{0};
  ConsumerOptions consumer = payments(make_handler([&tries](const Message&) {
    ++tries;
    return retry("not now");
  }));
  consumer.strategy = "state_machine";
  consumer.settings = {{"retry.attempts", "2"}, {"retry.backoff", "1ms..1ms"}};
  test::write_file(folder_.file("payments.jsonl"), "{\"id\":\"p-9\"}\n");
  test::RecordingObserver seen;
  Runner runner(store());
  runner.add(std::move(consumer)).observe(seen).once();
  EXPECT_EQ(runner.run(), 0);
  EXPECT_EQ(tries, 2);
}

TEST_F(RunnerFromCode, ASourceHasTheMembersThatItNeeds) {
  const ConsumerSource sources[] = {
      FromQueue{},
      FromStdin{},
      FromKafka{"localhost:9092", "payments", {"payments"}},
      FromNats{"nats://localhost:4222", "payments", "payments"},
      FromRabbitmq{"amqp://localhost:5672", "payments"},
      FromRedisStream{"redis://localhost:6379/0", "payments", "payments"},
      FromSqs{"https://sqs.eu-west-1.amazonaws.com/123456789012/payments"},
      FromHttp{"127.0.0.1:8080", "/payments"},
      FromHttp{"127.0.0.1:8080"},
  };
  for (const ConsumerSource& source : sources) {
    Runner runner(store());
    ConsumerOptions consumer = payments();
    consumer.source = source;
    EXPECT_EQ(refusal_of_add(runner, std::move(consumer)), "") << source.index();
  }
}

TEST_F(RunnerFromCode, AHandlerMayBeOfTheSettings) {
  ConsumerOptions consumer = payments(Handler());
  consumer.settings = {{"handler.sql.params.amount", "json:/amount"},
                       {"handler.sql.statements[0]",
                        "UPDATE account SET balance = balance + :amount WHERE id = 'ada'"}};
  test::RecordingObserver seen;
  Runner runner(store());
  runner.add(std::move(consumer)).observe(seen).once();
  EXPECT_EQ(runner.run(), 0);
  EXPECT_EQ(balance(), 125);
}

TEST_F(RunnerFromCode, AKeyMayBeFoundByAFunction) {
  ConsumerOptions consumer = payments();
  consumer.key.clear();
  consumer.key_function = [](const Arrival& arrival) { return arrival.payload; };
  test::RecordingObserver seen;
  Runner runner(store());
  runner.add(std::move(consumer)).observe(seen).once();
  EXPECT_EQ(runner.run(), 0);
  EXPECT_EQ(balance(), 125);
}

TEST_F(RunnerFromCode, WhatWouldNeverBeCalledIsRefused) {
  Runner runner(store());
  ConsumerOptions consumer = payments();
  consumer.handler = {};
  consumer.apply = [](const Message&, const Bytes&, Transaction&) { return done(); };
  EXPECT_THROW(runner.add(std::move(consumer)), SemelError);
  consumer = payments();
  consumer.key = {"json:/id"};
  consumer.key_function = [](const Arrival& arrival) { return arrival.payload; };
  EXPECT_THROW(runner.add(std::move(consumer)), SemelError);
}

TEST_F(RunnerFromCode, WhatIsRefusedLeavesItAsItWas) {
  test::RecordingObserver seen;
  Runner runner(store());
  ConsumerOptions wrong = payments();
  wrong.settings = {{"retry.attempts", "many"}};
  EXPECT_NE(refusal_of_add(runner, wrong).find("consumers[0].retry.attempts"), std::string::npos);
  wrong = payments();
  wrong.name = "Payments!";
  EXPECT_NE(refusal_of_add(runner, wrong).find("name"), std::string::npos);
  // The kind of the handler is known only from the handler itself.
  wrong = payments(make_handler([](const Message&) { return done(); }));
  wrong.strategy = "dedup_table";
  EXPECT_NE(refusal_of_add(runner, wrong).find("E061"), std::string::npos);
  runner.add(payments()).observe(seen).once();
  EXPECT_NE(refusal_of_add(runner, payments()).find("E025"), std::string::npos);
  EXPECT_EQ(runner.run(), 0);
  EXPECT_EQ(balance(), 125);
}

std::string refusal_of_settings(const RunnerStore& store, const ConfigValues& settings) {
  try {
    const Runner runner(store, settings);
  } catch (const SemelError& refused) {
    return refused.error().code + ": " + refused.error().message;
  }
  return "";
}

TEST_F(RunnerFromCode, ItsConstructorRefusesSettingsThatCannotBeUsed) {
  struct Wrong {
    std::string name, value, code, about;
  };
  for (const auto& [name, value, code, about] :
       {Wrong{"drain_timeout", "soon", "E014", "drain_timeout"},
        Wrong{"nonsense", "x", "E012", "nonsense"}, Wrong{"", "", "E023", "PATH=VALUE"},
        Wrong{"admin.listen", "127.0.0.1:99999", "E014", "admin.listen"},
        Wrong{"defaults.retry.attempts", "many", "E014", "defaults.retry.attempts"},
        Wrong{"store.path", "x", "E013", "path"},
        Wrong{"store.sqlite.path", "x", "E013", "store.sqlite.path"},
        Wrong{"consumers[0].retry.attempts", "3", "E013", "consumers[0].retry.attempts"}}) {
    const std::string refusal = refusal_of_settings(store(), {{name, value}});
    EXPECT_EQ(refusal.substr(0, 4), code) << name << ": " << refusal;
    EXPECT_NE(refusal.find(about), std::string::npos) << name << ": " << refusal;
  }
  const std::string both =
      refusal_of_settings(store(), {{"drain_timeout", "soon"}, {"nonsense", "x"}});
  EXPECT_NE(both.find("drain_timeout"), std::string::npos) << both;
  EXPECT_NE(both.find("nonsense"), std::string::npos) << both;
}

TEST_F(RunnerFromCode, SettingsMayNameConsumersThatAreAddedLater) {
  const std::string secret = "0123456789abcdef0123456789abcdef";
  EXPECT_EQ(refusal_of_settings(store(), {{"drain_timeout", "5s"},
                                          {"defaults.retry.attempts", "3"},
                                          {"store.on_unavailable", "fail"},
                                          {"admin.listen", "127.0.0.1:8585"},
                                          {"admin.auth.tokens[0].name", "shop"},
                                          {"admin.auth.tokens[0].secret", secret},
                                          {"admin.auth.tokens[0].claims[0]", "payments"}}),
            "");
}

TEST_F(RunnerFromCode, OneOfAConfigTakesNoOthers) {
  Runner runner = Runner::from_text(
      "store: { memory: {} }\nconsumers: [{ name: other, source: { stdin: {} }, key: json:/id "
      "}]\n");
  EXPECT_NE(refusal_of_add(runner, payments()).find("has those of its config"), std::string::npos);
  EXPECT_TRUE(refusal_of_add(runner, payments()).starts_with("E069"));
}

TEST_F(RunnerFromCode, WithoutAConsumerItDoesNotRun) {
  Runner runner(store());
  runner.prints(false);
  EXPECT_EQ(runner.run(), 78);
  ASSERT_TRUE(runner.error());
  EXPECT_NE(runner.error()->message.find("no consumer"), std::string::npos);
}

TEST_F(RunnerFromCode, ReportsInPlaceOfPrinting) {
  SqliteOptions nowhere;
  nowhere.path = folder_.file("no/such/folder/bank.db");
  for (const bool prints : {true, false}) {
    Runner runner(nowhere);
    runner.add(payments()).once().prints(prints);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(runner.run(), 69);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.empty(), !prints) << said;
    ASSERT_TRUE(runner.error());
    EXPECT_EQ(runner.error()->code, "R201");
  }
}

// True if a thread that the runner started has the host's signals blocked.
TEST_F(RunnerFromCode, LeavesSignalsToItsHost) {
  for (const bool takes : {true, false}) {
    std::atomic<int> blocked{-1};
    test::RecordingObserver seen;
    Runner runner(store());
    ConsumerOptions consumer = payments([&blocked](const Message&, Transaction&) {
      sigset_t mask;
      ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
      blocked = sigismember(&mask, SIGTERM);
      return done();
    });
    // The consumer has new records in each round.
    consumer.name = takes ? "takes" : "leaves";
    runner.add(std::move(consumer)).observe(seen).once().signals(takes);
    EXPECT_EQ(runner.run(), 0);
    EXPECT_EQ(blocked, takes ? 1 : 0);
  }
}

// A handler holds the transaction past timeout and grace: the host is notified once, and the run
// continues when the handler finally ends.
TEST_F(RunnerFromCode, TellsItsHostOfAHandlerThatHangs) {
  std::atomic<bool> release{false};
  std::atomic<int> told{0};
  std::string about;
  ConsumerOptions consumer = payments([&release](const Message& message, Transaction& tx) {
    release.wait(false);
    return pay_account(message, tx);
  });
  consumer.settings = {{"timeout", "10ms"}};
  test::RecordingObserver seen;
  Runner runner(store());
  runner.add(std::move(consumer)).observe(seen).once();
  runner.on_hung([&](std::string_view name, const Error& error) {
    if (++told == 1) about = std::string(name) + ": " + error.code;
    release = true;
    release.notify_all();
  });
  EXPECT_EQ(runner.run(), 0);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(about, "payments: R260");
  EXPECT_EQ(balance(), 125);
}

}  // namespace
}  // namespace semel::compose
