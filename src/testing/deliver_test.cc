#include <semel/testing/deliver.h>

#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <semel/environment.h>

#include "core/failpoints.h"
#include "testing/test_deliver.h"

namespace semel::testkit {
namespace {

using Kind = Finding::Kind;

constexpr const char* kBank =
    "CREATE TABLE account(id TEXT PRIMARY KEY, balance INTEGER NOT NULL, last TEXT);"
    "INSERT INTO account VALUES ('ada', 100, NULL);";

std::vector<TestMessage> payments() {
  return {{.key = "p-1", .payload = R"({"amount": 5})"},
          {.key = "p-2", .payload = R"({"amount": 20})"}};
}

Verdict pay(const Message& message, Transaction& tx) {
  tx.exec("UPDATE account SET balance = balance + ? WHERE id = 'ada'", message.json<int>("/amount"))
      .expect_rows(1, dead("no such account"));
  return done();
}

// The schedule finds the same when it is given back.
void expect_replays(const Report& report, const std::function<Report(std::string)>& again) {
  ASSERT_FALSE(report.replay.empty());
  const Report second = again(report.replay);
  EXPECT_EQ(second.steps, report.steps);
  ASSERT_EQ(second.findings.size(), report.findings.size());
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    EXPECT_EQ(second.findings[i].kind, report.findings[i].kind);
    EXPECT_EQ(second.findings[i].what, report.findings[i].what);
    EXPECT_EQ(second.findings[i].expected, report.findings[i].expected);
    EXPECT_EQ(second.findings[i].found, report.findings[i].found);
  }
}

TEST(Deliver, ARightHandlerPassesEveryStrategyThatCommitsWithIt) {
  TestStore bank(kBank);
  for (const char* strategy : {"dedup_table", "inbox", "state_machine"}) {
    const Report report = delivered(pay, payments(), {.store = &bank, .strategy = strategy});
    EXPECT_TRUE(report) << strategy << ": " << report;
    EXPECT_GT(report.crashes, 50U) << strategy;
    EXPECT_GT(report.pauses, 5U) << strategy;
    for (const auto point :
         {failpoint::kReceived, failpoint::kBegun, failpoint::kClaimed, failpoint::kHandlerBefore,
          failpoint::kHandlerAfter, failpoint::kFlushed, failpoint::kFinished,
          failpoint::kCommitBefore, failpoint::kCommitAfter, failpoint::kSettleBefore,
          failpoint::kSettleAfter}) {
      EXPECT_TRUE(report.points.contains(std::string(point))) << strategy << ": " << point;
    }
  }
  EXPECT_EQ(bank.number("SELECT balance FROM account"), 125);
}

TEST(Deliver, WithoutAStrategyItIsTheDefaultOne) {
  TestStore bank(kBank);
  const auto run = [&](std::string strategy) {
    return delivered(
        pay, payments(),
        {.store = &bank, .strategy = std::move(strategy), .crashes = false, .random_runs = 0});
  };
  const Report named = run("dedup_table");
  const Report unnamed = run("");
  EXPECT_TRUE(unnamed) << unnamed;
  EXPECT_GT(unnamed.pauses, 5U);
  EXPECT_EQ(unnamed.points, named.points);
  EXPECT_EQ(unnamed.runs, named.runs);
}

// Without a record, a repeated effect that is not idempotent counts twice.
TEST(Deliver, AStrategyWithoutARecordDoublesWhatIsNotIdempotent) {
  TestStore bank(kBank);
  const DeliverOptions natural{.store = &bank, .strategy = "natural"};
  const Report adds = delivered(pay, payments(), natural);
  EXPECT_TRUE(adds.has(Kind::kDiffers)) << adds;
  const Report sets = delivered(
      [](const Message&, Transaction& tx) {
        tx.exec("UPDATE account SET last = 'paid' WHERE id = 'ada'");
        return done();
      },
      payments(), natural);
  EXPECT_TRUE(sets) << sets;
}

TEST(Deliver, FindsAnEffectOutsideOfTheTransaction) {
  TestStore bank(kBank);
  Outside mails("mails");
  const auto handler = [&mails](const Message& message, Transaction& tx) {
    mails.add(message.key().text);
    return pay(message, tx);
  };
  const auto run = [&](std::string replay) {
    return delivered(handler, payments(),
                     {.store = &bank, .outside = {&mails}, .replay = std::move(replay)});
  };
  const Report report = run({});
  EXPECT_FALSE(report);
  ASSERT_TRUE(report.has(Kind::kDoubled)) << report;
  EXPECT_EQ(report.findings.front().what, "mails: p-1");
  EXPECT_EQ(report.findings.front().found, 2);
  // One message and one crash are enough.
  EXPECT_EQ(report.replay.find("1 crash@"), 0U) << report;
  EXPECT_NE(report.text().find("doubled: mails: p-1"), std::string::npos) << report;
  expect_replays(report, run);
  // The account was right all the time.
  EXPECT_EQ(report.findings.size(), 1U) << report;
}

TEST(Deliver, FindsAStaticThatCounts) {
  TestStore bank("CREATE TABLE receipt(number INTEGER)");
  static int number = 0;
  const auto handler = [](const Message&, Transaction& tx) {
    tx.exec("INSERT INTO receipt VALUES (?)", ++number);
    return done();
  };
  // The effect is never reset, so two runs without a fault differ.
  const Report kept = delivered(handler, payments(), {.store = &bank});
  EXPECT_TRUE(kept.has(Kind::kUnsteady)) << kept;
  // Put back before each run, it is a crash that shows it.
  const auto run = [&](std::string replay) {
    return delivered(handler, payments(),
                     {.store = &bank, .reset = [] { number = 0; }, .replay = std::move(replay)});
  };
  const Report counted = run({});
  EXPECT_TRUE(counted.has(Kind::kDiffers)) << counted;
  EXPECT_NE(counted.replay.find("crash@"), std::string::npos) << counted;
  expect_replays(counted, run);
}

// A common mistake: a memory of seen messages that survives the rollback of its transaction.
TEST(Deliver, FindsAMessageLostByAMemoryOfItsOwn) {
  TestStore bank(kBank);
  std::set<Bytes> seen;
  const auto handler = [&seen](const Message& message, Transaction& tx) {
    if (!seen.insert(message.key().text).second) return discard("seen before");
    tx.exec("INSERT INTO account VALUES (?, 1, NULL)", message.key().text);
    return done();
  };
  const auto run = [&](std::string replay) {
    return delivered(
        handler, payments(),
        {.store = &bank, .reset = [&seen] { seen.clear(); }, .replay = std::move(replay)});
  };
  const Report report = run({});
  ASSERT_TRUE(report.has(Kind::kLost)) << report;
  EXPECT_EQ(report.findings.front().found, 0);
  expect_replays(report, run);
}

TEST(Deliver, FindsALookThatIsFollowedByAnInsert) {
  Outside orders("orders");
  const auto looks = [&orders](const Message& message, const Attempt&) {
    if (!orders.has(message.key().text)) orders.add(message.key().text);
    return done();
  };
  const auto run = [&](std::string replay) {
    return delivered(looks, payments(), {.outside = {&orders}, .replay = std::move(replay)});
  };
  const Report report = run({});
  ASSERT_TRUE(report.has(Kind::kDoubled)) << report;
  // A crash does not show it: another consumer in between does.
  EXPECT_EQ(report.replay.find("crash@"), std::string::npos) << report;
  EXPECT_NE(report.replay.find("pause@"), std::string::npos) << report;
  expect_replays(report, run);
  const Report without = delivered(looks, payments(), {.outside = {&orders}, .pauses = false});
  EXPECT_TRUE(without) << without;
}

TEST(Deliver, AReceiverThatHonoursKeysIsEnoughOutside) {
  Outside orders("orders");
  const Report report = delivered(
      [&orders](const Message& message) {
        orders.add_once(message.key().text);
        return done();
      },
      payments(), {.outside = {&orders}});
  EXPECT_TRUE(report) << report;
  EXPECT_GT(report.pauses, 10U);
}

// Takes a charge back where the handler fails.
class ChargeGuard {
 public:
  ChargeGuard(Outside& refunds, std::string key) : refunds_(refunds), key_(std::move(key)) {}
  ~ChargeGuard() {
    if (std::uncaught_exceptions() > before_) refunds_.add_once(key_);
  }
  ChargeGuard(const ChargeGuard&) = delete;
  ChargeGuard& operator=(const ChargeGuard&) = delete;

 private:
  Outside& refunds_;
  const std::string key_;
  const int before_ = std::uncaught_exceptions();
};

TEST(Deliver, ACrashWhileAnExceptionPassesEndsTheProcessToo) {
  Outside charges("charges"), refunds("refunds");
  const Report report = delivered(
      [&](const Message& message) {
        const ChargeGuard guard(refunds, message.key().text);
        charges.add_once(message.key().text);
        if (refunds.count(message.key().text) == 0) throw std::runtime_error("declined");
        return done();
      },
      payments(), {.outside = {&charges, &refunds}});
  EXPECT_TRUE(report) << report;
  EXPECT_GT(report.crashes, 10U);
}

TEST(Deliver, FindsAHandlerThatDependsOnTheOrder) {
  TestStore bank(kBank);
  const auto handler = [](const Message& message, Transaction& tx) {
    tx.exec("UPDATE account SET last = ? WHERE id = 'ada'", message.key().text);
    return done();
  };
  const auto run = [&](std::string replay) {
    return delivered(handler, payments(),
                     {.store = &bank, .random_runs = 0, .replay = std::move(replay)});
  };
  const Report report = run({});
  ASSERT_TRUE(report.has(Kind::kDiffers)) << report;
  EXPECT_EQ(report.replay, "2 1") << report;
  expect_replays(report, run);
  // Messages of one ordering key keep their order.
  auto ordered = payments();
  for (TestMessage& message : ordered) message.ordering_key = "ada";
  const Report kept = delivered(handler, ordered, {.store = &bank});
  EXPECT_TRUE(kept) << kept;
  const Report unordered = delivered(handler, payments(), {.store = &bank, .reorderings = false});
  EXPECT_TRUE(unordered) << unordered;
}

TEST(Deliver, AStepIsRememberedAndItsCallIsNot) {
  TestStore bank(kBank);
  Outside stock("stock");
  const auto with_step = [&stock](bool keyed) {
    return [&stock, keyed](const Message& message, const Attempt& attempt) {
      attempt.step("lock_stock", message.key().text, [&](const Bytes& key) {
        if (keyed) {
          stock.add_once(key);
        } else {
          stock.add(key);
        }
      });
      return done();
    };
  };
  const DeliverOptions options{.store = &bank,
                               .strategy = "state_machine",
                               .steps = StepSpecs{{.name = "lock_stock"}},
                               .outside = {&stock}};
  const Report keyless = delivered(with_step(false), payments(), options);
  EXPECT_TRUE(keyless.has(Kind::kDoubled)) << keyless;
  const Report keyed = delivered(with_step(true), payments(), options);
  EXPECT_TRUE(keyed) << keyed;
  EXPECT_TRUE(keyed.points.contains(std::string(failpoint::kStepBefore)));
}

TEST(Deliver, WorkInTwoPartsDoublesItsCallAlone) {
  TestStore bank(kBank);
  Outside calls("calls");
  const auto call = [&calls](const Message& message, const Attempt&) {
    calls.add(message.key().text);
    return done("called");
  };
  DeliverOptions options{.store = &bank, .strategy = "state_machine", .outside = {&calls}};
  options.apply = [](const Message& message, const Bytes& answer, Transaction& tx) {
    EXPECT_EQ(answer, "called");
    return pay(message, tx);
  };
  const Report strict = delivered(call, payments(), options);
  EXPECT_TRUE(strict.has(Kind::kDoubled)) << strict;
  options.may_double = true;
  const Report allowed = delivered(call, payments(), options);
  EXPECT_TRUE(allowed) << allowed;
  EXPECT_TRUE(allowed.text().ends_with("nothing lost; doubling is allowed (may_double)"))
      << allowed;
}

TEST(Deliver, AMessageSentByTheOutboxIsSentOnce) {
  TestStore bank(kBank);
  const Report report = delivered(
      [](const Message& message, Transaction& tx) {
        OutgoingMessage mail;
        mail.payload = "thanks";
        mail.delay = std::chrono::hours(24 * 30);
        tx.publish("mails", std::move(mail));
        return pay(message, tx);
      },
      payments(), {.store = &bank, .receivers = {"mails"}});
  EXPECT_TRUE(report) << report;
}

TEST(Deliver, ARetryComesBackFromTheStore) {
  TestStore bank(kBank);
  const Report report = delivered(
      [](const Message& message, Transaction& tx) {
        if (tx.attempt().number == 1) return retry("not yet");
        return pay(message, tx);
      },
      payments(), {.store = &bank});
  EXPECT_TRUE(report) << report;
  EXPECT_EQ(bank.number("SELECT balance FROM account"), 125);
}

TEST(Deliver, AMessageGivenUpIsGivenUpInEveryRun) {
  TestStore bank(kBank);
  const Report report = delivered(
      [](const Message& message, Transaction& tx) {
        return message.key().text == "p-1" ? dead("never") : pay(message, tx);
      },
      payments(), {.store = &bank, .may_give_up = true});
  EXPECT_TRUE(report) << report;
}

TEST(Deliver, AHandlerThatNeverEndsAMessageIsStuck) {
  RetryPolicy for_ever;
  for_ever.attempts = 0;
  for_ever.max_elapsed = std::chrono::milliseconds(0);
  const Report report = delivered([](const Message&) -> Verdict { throw std::runtime_error("no"); },
                                  payments(), {.retry = for_ever});
  EXPECT_TRUE(report.has(Kind::kStuck)) << report;
}

TEST(Deliver, AHandlerThatNeverWorksIsFound) {
  TestStore bank("CREATE TABLE payment(id TEXT NOT NULL)");
  const auto handler = [](const Message& message, Transaction& tx) {
    tx.exec("INSERT INTO paymnt(id) VALUES (?)", message.key().text);
    return done();
  };
  const Report report = delivered(handler, payments(), {.store = &bank});
  ASSERT_TRUE(report.has(Kind::kGivenUp)) << report;
  EXPECT_NE(report.text().find("paymnt"), std::string::npos) << "it says why: " << report;
  const Report meant = delivered([](const Message&) { return dead("no such account"); }, payments(),
                                 {.may_give_up = true});
  EXPECT_TRUE(meant) << meant;
}

// A lease that would be renewed in real time, while the runs have a time of their own.
TEST(Deliver, NoThreadRenewsTheLeasesOfAGuard) {
  Outside calls("calls");
  const auto handler = [&calls](const Message& message) {
    calls.add_once(message.key().text);
    return done();
  };
  GuardOptions guard;
  guard.lease = std::chrono::milliseconds(12);
  DeliverOptions options{.guard = guard, .outside = {&calls}};
  const Report one = delivered(handler, payments(), options);
  const Report other = delivered(handler, payments(), options);
  EXPECT_TRUE(one) << one;
  EXPECT_EQ(one.text(), other.text());
}

TEST(Deliver, AtMostOnceLosesAndSaysSo) {
  Outside calls("calls");
  const auto handler = [&calls](const Message& message) {
    calls.add(message.key().text);
    return done();
  };
  DeliverOptions options{.strategy = "at_most_once", .outside = {&calls}};
  const Report strict = delivered(handler, payments(), options);
  EXPECT_FALSE(strict);
  EXPECT_FALSE(strict.has(Kind::kDoubled)) << strict;
  options.may_lose = true;
  const Report allowed = delivered(handler, payments(), options);
  EXPECT_TRUE(allowed) << allowed;
  EXPECT_TRUE(allowed.text().ends_with("nothing doubled; losing is allowed (may_lose)")) << allowed;
  options.may_double = true;
  const Report both = delivered(handler, payments(), options);
  EXPECT_TRUE(both.text().ends_with(
      "nothing found; doubling and losing are allowed (may_double, may_lose)"))
      << both;
}

TEST(Deliver, ComparesWhatItIsToldTo) {
  TestStore bank(
      "CREATE TABLE payment(number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL)");
  const auto handler = [](const Message& message, Transaction& tx) {
    tx.exec("INSERT INTO payment(id) VALUES (?)", message.key().text);
    return done();
  };
  // The numbers depend on the order.
  EXPECT_FALSE(delivered(handler, payments(), {.store = &bank}));
  const Report ids =
      delivered(handler, payments(), {.store = &bank, .rows = {"SELECT id FROM payment"}});
  EXPECT_TRUE(ids) << ids;
}

TEST(Deliver, CountsWhatTheCallerCounts) {
  std::int64_t calls = 0;
  const Report report = delivered(
      [&calls](const Message&) {
        ++calls;
        return done();
      },
      payments(),
      {.state =
           [&calls] {
             return Counts{{"calls", calls}};
           },
       .reset = [&calls] { calls = 0; }});
  EXPECT_TRUE(report.has(Kind::kDoubled)) << report;
}

TEST(Deliver, APointOfTheHandlersOwnIsOneOfThem) {
  Outside calls("calls");
  const Report report = delivered(
      [&calls](const Message& message) {
        point("halfway");
        calls.add_once(message.key().text);
        return done();
      },
      payments(), {.outside = {&calls}});
  EXPECT_TRUE(report) << report;
  EXPECT_TRUE(report.points.contains("halfway"));
  point("nobody's");  // outside of a run it is nothing
}

TEST(Deliver, TheSameOptionsMakeTheSameRuns) {
  const auto run = [] {
    TestStore bank(kBank);
    return delivered(pay, payments(), {.store = &bank});
  };
  const Report first = run();
  const Report second = run();
  EXPECT_EQ(first.text(), second.text());
}

std::string refusal_of(const std::function<Report()>& call) {
  try {
    return call().text();
  } catch (const SemelError& refused) {
    return refused.error().message;
  }
}

TEST(Deliver, RefusesWhatDoesNotGoTogether) {
  TestStore bank(kBank);
  const auto plain = [](const Message&) { return done(); };
  const auto later = [](const Message&, const Attempt&, Completion completion) {
    completion(done());
  };
  EXPECT_EQ(refusal_of([&] { return delivered(later, payments()); }),
            "an asynchronous handler ends on a thread that no schedule has in hand");
  EXPECT_EQ(refusal_of([&] { return delivered(pay, payments()); }),
            "a handler that takes a Transaction needs a store with tables");
  EXPECT_EQ(refusal_of([&] { return delivered(plain, payments(), {.strategy = "twice"}); }),
            "there is no strategy \"twice\"");
  EXPECT_EQ(refusal_of([&] { return delivered(plain, payments(), {.strategy = "query"}); }),
            "strategy query needs more than a handler");
  EXPECT_EQ(refusal_of([&] { return delivered(plain, {}); }), "there is no message to deliver");
  EXPECT_EQ(refusal_of([&] { return delivered(plain, {{.key = ""}}); }), "a message has no key");
  EXPECT_EQ(refusal_of([&] { return delivered(plain, payments(), {.replay = "3"}); }),
            "\"3\" is no schedule of these messages");
  EXPECT_EQ(refusal_of([&] { return delivered(plain, payments(), {.outside = {nullptr}}); }),
            "DeliverOptions::outside has a null pointer");
  EXPECT_NE(refusal_of([&] {
              return delivered(plain, payments(), {.store = &bank, .strategy = "dedup_table"});
            }).find("dedup_table"),
            std::string::npos);
}

}  // namespace
}  // namespace semel::testkit
