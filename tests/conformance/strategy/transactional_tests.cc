// The promises of strategies to handlers that take a Transaction.
#include <atomic>
#include <stdexcept>

#include <semel/reason.h>

#include "tests/conformance/strategy_suite.h"

namespace semel::conformance {
namespace {

using Kind = Outcome::Kind;
using std::chrono::milliseconds;
using test::StoreCall;

TEST_P(TransactionalStrategySuite, AStatementThatFailsAmong99CostsNobodyElse) {
  const auto one = strategy([](const Message& message, Transaction* tx) -> std::optional<Verdict> {
    if (message.key().text == "k042") tx->exec("INSERT INTO effect (name) VALUES (?)", Null{});
    if (message.key().text == "k055") {
      tx->exec("INSERT INTO effect (name) VALUES (?)", "half");
      tx->exec("INSERT INTO no_such_table VALUES (1)");
    }
    return std::nullopt;
  });
  const auto outcomes = process(*one, batch(keys(100)));
  EXPECT_EQ(count(outcomes, Kind::kDone), 98U);
  EXPECT_EQ(last(outcomes, "k042").reason, "handler.sql.constraint");
  EXPECT_EQ(last(outcomes, "k042").kind, Kind::kDead) << "no time mends a NULL";
  EXPECT_EQ(last(outcomes, "k055").kind, Kind::kDead) << "nor a table that is missing";
  EXPECT_EQ(effects("half"), 0) << "half of a message's statements";
  EXPECT_EQ(effects(), 98);
  for (const auto& key : keys(100)) EXPECT_EQ(runs(key), 1) << key;
}

TEST_P(TransactionalStrategySuite, DeclaredMissesEndAsDeclared) {
  const auto one = strategy([](const Message& message, Transaction* tx) -> std::optional<Verdict> {
    const Bytes& key = message.key().text;
    if (key == "k1") {
      tx->exec("UPDATE effect SET name = 'x' WHERE name = 'none'").expect_rows(1, dead("no row"));
    }
    if (key == "k2") {
      tx->exec("UPDATE effect SET name = 'x' WHERE name = 'none'").expect_rows(1, discard("gone"));
    }
    if (key == "k3") {
      tx->exec("UPDATE effect SET name = 'x' WHERE name = 'none'").expect_rows(0, dead("a row"));
    }
    return std::nullopt;
  });
  const auto outcomes = process(*one, batch({"k0", "k1", "k2", "k3"}));
  EXPECT_EQ(last(outcomes, "k0").kind, Kind::kDone);
  EXPECT_EQ(last(outcomes, "k1").kind, Kind::kDead);
  EXPECT_EQ(last(outcomes, "k1").reason, "handler.sql.expect_rows");
  EXPECT_EQ(last(outcomes, "k2").kind, Kind::kDiscarded);
  EXPECT_EQ(last(outcomes, "k3").kind, Kind::kDone);
  EXPECT_EQ(effects(), 2);
}

TEST_P(TransactionalStrategySuite, OnlyANamedUniqueViolationIsAVerdict) {
  place_->sql("INSERT INTO taken (id) VALUES (7)");
  const auto one = strategy([](const Message& message, Transaction* tx) -> std::optional<Verdict> {
    const Bytes& key = message.key().text;
    if (key == "named") {
      tx->exec("INSERT INTO taken (id) VALUES (7)")
          .on_unique_violation("taken(id)", discard("had"));
    }
    if (key == "unnamed") tx->exec("INSERT INTO taken (id) VALUES (7)");
    return std::nullopt;
  });
  const auto outcomes = process(*one, batch({"named", "unnamed", "good"}));
  EXPECT_EQ(last(outcomes, "named").kind, Kind::kDiscarded);
  EXPECT_EQ(last(outcomes, "unnamed").kind, Kind::kRetry) << "no duplicate: the handler's error";
  EXPECT_EQ(last(outcomes, "unnamed").reason, "handler.sql.constraint");
  EXPECT_EQ(effects(), 1);
}

TEST_P(TransactionalStrategySuite, AQuerySeesItsBatchAndAnEarlierErrorIsNotItsReadersOwn) {
  std::atomic<int> saw_exception{0};
  std::atomic<int> read{0};
  const auto one = strategy([&](const Message& message, Transaction* tx) -> std::optional<Verdict> {
    const Bytes& key = message.key().text;
    if (key == "k000") tx->exec("INSERT INTO effect (name) VALUES (?)", Null{});
    if (key == "k005") {
      try {
        const Rows rows = tx->query("SELECT count(*) FROM effect");
        EXPECT_EQ(std::get<std::int64_t>(rows.rows.at(0).at(0)), 4);
        ++read;
      } catch (const std::exception&) {
        ++saw_exception;
        throw;
      }
    }
    return std::nullopt;
  });
  const auto outcomes = process(*one, batch(keys(10)));
  EXPECT_EQ(saw_exception, 0);
  EXPECT_EQ(read, 1) << "it asked, and in the end got an answer";
  EXPECT_EQ(last(outcomes, "k000").kind, Kind::kDead);
  EXPECT_EQ(count(outcomes, Kind::kDone), 9U);
  EXPECT_EQ(last(outcomes, "k005").attempt, 1);
  EXPECT_EQ(effects(), 9);
}

TEST_P(TransactionalStrategySuite, WhatAReaderWroteGoesWithItsFailure) {
  const auto one = strategy([](const Message& message, Transaction* tx) -> std::optional<Verdict> {
    if (message.key().text != "k001") return std::nullopt;
    tx->exec("INSERT INTO effect (name) VALUES ('before')");
    tx->query("SELECT count(*) FROM effect");
    tx->exec("INSERT INTO effect (name) VALUES ('after')");
    throw std::runtime_error("no");
  });
  const auto outcomes = process(*one, batch(keys(3)));
  EXPECT_EQ(last(outcomes, "k001").kind, Kind::kRetry);
  EXPECT_EQ(effects("before") + effects("after"), 0);
  EXPECT_EQ(effects(), 2);
}

TEST_P(TransactionalStrategySuite, AQuerysOwnErrorIsItsHandlers) {
  const auto one = strategy([](const Message& message, Transaction* tx) -> std::optional<Verdict> {
    if (message.key().text == "k001") tx->query("SELECT no_such_column FROM effect");
    return std::nullopt;
  });
  const auto outcomes = process(*one, batch(keys(3)));
  EXPECT_EQ(last(outcomes, "k001").kind, Kind::kDead) << "no time mends it";
  EXPECT_TRUE(last(outcomes, "k001").reason.starts_with("handler.sql.")) << "and names its class";
  EXPECT_EQ(count(outcomes, Kind::kDone), 2U);
}

TEST_P(TransactionalStrategySuite, AHandlerCannotEndTheTransaction) {
  const auto one = strategy([](const Message& message, Transaction* tx) -> std::optional<Verdict> {
    const Bytes& key = message.key().text;
    tx->exec("INSERT INTO effect (name) VALUES (?)", "from " + key);
    if (key == "k0") tx->exec("COMMIT");
    if (key == "k1") tx->exec("ROLLBACK");
    if (key == "k2") tx->exec("DROP TABLE effect");
    if (key == "k3") tx->query("PRAGMA journal_mode = DELETE");
    if (key == "k4") tx->exec("DELETE FROM semel_meta");
    if (key == "k5") tx->exec("SELECT 1; COMMIT");
    return std::nullopt;
  });
  const auto outcomes = process(*one, batch({"k0", "k1", "k2", "k3", "k4", "k5", "good"}));
  for (const char* key : {"k0", "k1", "k2", "k3", "k4", "k5"}) {
    EXPECT_EQ(last(outcomes, key).kind, Kind::kRetry) << key;
    EXPECT_EQ(last(outcomes, key).reason, "handler.sql.refused") << key;
    EXPECT_EQ(effects("from " + std::string(key)), 0) << key;
  }
  EXPECT_EQ(last(outcomes, "good").kind, Kind::kDone);
  EXPECT_EQ(effects("good"), 1);
}

TEST_P(TransactionalStrategySuite, ATableThatEndsTheTransactionCostsItsMessageAlone) {
  const auto one = strategy([](const Message& message, Transaction* tx) -> std::optional<Verdict> {
    if (message.key().text == "k012") tx->exec("INSERT INTO ending (id) VALUES (1)");
    if (message.key().text == "k015") tx->query("SELECT 1");
    return std::nullopt;
  });
  const auto outcomes = process(*one, batch(keys(30)));
  EXPECT_EQ(count(outcomes, Kind::kDone), 29U);
  EXPECT_EQ(last(outcomes, "k012").kind, Kind::kRetry);
  EXPECT_EQ(effects(), 29);
  for (const auto& key : keys(30)) EXPECT_EQ(effects(key), key == "k012" ? 0 : 1) << key;
}

TEST_P(TransactionalStrategySuite, ManyBadOnesAmongManyGoodOnes) {
  const auto one = strategy([](const Message& message, Transaction* tx) -> std::optional<Verdict> {
    const int number = std::stoi(message.key().text.substr(1));
    if (number % 9 == 4) tx->exec("INSERT INTO ending (id) VALUES (1)");
    if (number % 11 == 3) tx->exec("INSERT INTO effect (name) VALUES (?)", Null{});
    if (number % 7 == 5) tx->query("SELECT count(*) FROM effect");
    return std::nullopt;
  });
  const auto outcomes = process(*one, batch(keys(100)));
  for (int number = 0; number < 100; ++number) {
    const std::string key = keys(100)[static_cast<std::size_t>(number)];
    const bool ended = number % 9 == 4;
    const bool bad = ended || number % 11 == 3;
    EXPECT_EQ(last(outcomes, key).kind, ended ? Kind::kRetry
                                        : bad ? Kind::kDead
                                              : Kind::kDone)
        << key;
    EXPECT_EQ(effects(key), bad ? 0 : 1) << key;
    EXPECT_EQ(last(outcomes, key).attempt, 1) << key;
  }
}

TEST_P(InboxStrategySuite, TheTableShowsEveryMessageThatRan) {
  std::atomic<bool> mended{false};
  const auto one = strategy([&](const Message& message, Transaction*) -> std::optional<Verdict> {
    if (message.key().text == "late" && !mended) throw std::runtime_error("away");
    if (message.key().text == "bad") return dead("never");
    return std::nullopt;
  });
  process(*one, batch({"early", "late", "bad"}));
  const std::string from = "SELECT count(*) FROM " + place_->inbox() + " AS m WHERE ";
  EXPECT_EQ(place_->sql(from + "1 = 1"), 3);
  EXPECT_EQ(place_->sql(from + "m.key = 'early' AND processed_at IS NOT NULL AND error IS NULL AND "
                               "payload = '{}' AND result = 'result of early'"),
            1);
  EXPECT_EQ(place_->sql(from + "m.key = 'late' AND processed_at IS NULL AND error LIKE '%away%'"),
            1);
  EXPECT_EQ(place_->sql(from + "m.key = 'bad' AND error LIKE '%never%'"), 1);
  mended = true;
  deliver_held(*one);
  process(*one, batch({"early", "late", "bad"}));
  EXPECT_EQ(place_->sql(from + "1 = 1"), 3) << "one row for each message, however often it comes";
  EXPECT_EQ(place_->sql(from + "m.key = 'late' AND processed_at IS NOT NULL AND error IS NULL"), 1);
}

}  // namespace
}  // namespace semel::conformance
