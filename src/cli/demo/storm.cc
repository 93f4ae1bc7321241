#include "cli/demo/storm.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>

#include "base/json.h"

namespace semel::cli::demo {

namespace {

constexpr std::uint64_t kAccounts = 100;
constexpr std::uint64_t kEveryThird = 3;
constexpr std::uint64_t kAmounts = 500;
constexpr double kFarthestTwin = 0.1;

std::uint64_t amount_of(std::uint64_t number) { return 1 + number * 7919 % kAmounts; }

bool sent_again(std::uint64_t number) { return number % kEveryThird == 0; }

// True if a row exists for each payment before it is paid.
bool has_bills(core::StrategyKind strategy) {
  return strategy == core::StrategyKind::kNatural ||
         strategy == core::StrategyKind::kOptimisticLock;
}

// The raced messages come first in the numbers that are sent again: 3, 6, 9, …
bool is_raced(std::uint64_t number, std::uint64_t raced) {
  return sent_again(number) && number / kEveryThird <= raced;
}

}  // namespace

std::string payload_of(std::uint64_t number) {
  return fmt::format(R"({{"id":"p-{}","account":{},"amount":{},"version":0}})", number,
                     1 + number % kAccounts, amount_of(number));
}

std::uint64_t number_of(std::string_view payload) {
  constexpr std::string_view kBefore = R"({"id":"p-)";
  if (!payload.starts_with(kBefore)) return 0;
  std::uint64_t number = 0;
  std::from_chars(payload.data() + kBefore.size(), payload.data() + payload.size(), number);
  return payload == payload_of(number) ? number : 0;
}

std::string work_sql(std::uint64_t number) {
  return fmt::format(
      "BEGIN IMMEDIATE;"
      "UPDATE account SET balance = balance + {2} WHERE id = {1};"
      "INSERT INTO effects(id, account, amount) VALUES ('p-{0}', {1}, {2});"
      "COMMIT;",
      number, 1 + number % kAccounts, amount_of(number));
}

std::string call_sql(std::uint64_t number, bool honours_key) {
  const std::string unless_known =
      honours_key ? fmt::format("NOT EXISTS (SELECT 1 FROM effects WHERE id = 'p-{}')", number)
                  : "true";
  return fmt::format(
      "BEGIN IMMEDIATE;"
      "UPDATE service SET calls = calls + 1;"
      "UPDATE account SET balance = balance + {2} WHERE id = {1} AND {3};"
      "INSERT INTO effects(id, account, amount) SELECT 'p-{0}', {1}, {2} WHERE {3};"
      "COMMIT;",
      number, 1 + number % kAccounts, amount_of(number), unless_known);
}

Storm make_storm(std::uint64_t messages, std::uint64_t raced, std::uint64_t seed) {
  Storm storm;
  storm.messages = messages;
  storm.raced = std::min(raced, messages / kEveryThird);
  std::mt19937_64 random(seed);
  // A duplicate follows its original by anything between nothing and a good part of the whole.
  std::vector<std::pair<double, std::uint64_t>> order;
  std::uniform_real_distribution<double> later(
      0.0, std::max(1.0, static_cast<double>(messages) * kFarthestTwin));
  for (std::uint64_t number = 1; number <= messages; ++number) {
    if (is_raced(number, storm.raced)) continue;
    order.emplace_back(static_cast<double>(number), number);
    if (sent_again(number)) {
      order.emplace_back(static_cast<double>(number) + later(random), number);
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  storm.queued.reserve(order.size());
  for (const auto& [place, number] : order) storm.queued.push_back(payload_of(number));
  return storm;
}

std::string schema_sql(core::StrategyKind strategy, std::uint64_t messages) {
  std::string sql =
      "PRAGMA journal_mode = WAL;"
      "BEGIN;"
      "CREATE TABLE effects(id TEXT NOT NULL, account INTEGER NOT NULL, amount INTEGER NOT NULL);"
      "CREATE INDEX effects_by_id ON effects(id);"
      "CREATE TABLE service(calls INTEGER NOT NULL);"
      "INSERT INTO service VALUES (0);";
  if (has_bills(strategy)) {
    // The ledger sees changes, not statements: an absolute SET that changes nothing has no effect.
    sql += fmt::format(
        "CREATE TABLE bill(id TEXT PRIMARY KEY, account INTEGER NOT NULL, paid INTEGER, "
        "version INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;"
        "CREATE TRIGGER bill_paid AFTER UPDATE OF paid ON bill WHEN NEW.paid IS NOT OLD.paid BEGIN "
        "INSERT INTO effects(id, account, amount) VALUES (NEW.id, NEW.account, NEW.paid); END;"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
        "INSERT INTO bill(id, account) SELECT 'p-' || i, 1 + i % {} FROM n;",
        messages, kAccounts);
  } else {
    sql += fmt::format(
        "CREATE TABLE account(id INTEGER PRIMARY KEY, balance INTEGER NOT NULL DEFAULT 0);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
        "INSERT INTO account(id) SELECT i FROM n;",
        kAccounts);
  }
  return sql + "COMMIT;";
}

std::string balance_sql(core::StrategyKind strategy) {
  return has_bills(strategy) ? "SELECT sum(paid) FROM bill" : "SELECT sum(balance) FROM account";
}

std::int64_t expected_balance(std::uint64_t messages) {
  std::uint64_t sum = 0;
  for (std::uint64_t number = 1; number <= messages; ++number) sum += amount_of(number);
  return static_cast<std::int64_t>(sum);
}

namespace {

// The settings that only this strategy has.
std::string own_yaml(core::StrategyKind strategy) {
  switch (strategy) {
    case core::StrategyKind::kQuery:
      return "    unsafe: true\n"
             "    query: SELECT 1 FROM effects WHERE id = :id\n";
    case core::StrategyKind::kPessimisticLock:
      return "    lock:\n"
             "      select: SELECT amount FROM effects WHERE id = :id FOR UPDATE\n"
             "      done_when: amount > 0\n";
    case core::StrategyKind::kOptimisticLock:
      return "    version: { from: json:/version, current: SELECT version FROM bill WHERE id = :id "
             "}\n";
    default:
      return "";
  }
}

std::string statements_yaml(core::StrategyKind strategy) {
  if (strategy == core::StrategyKind::kNatural) {
    return "        params: { id: json:/id, amount: json:/amount }\n"
           "        statements:\n"
           "          - UPDATE bill SET paid = :amount WHERE id = :id\n";
  }
  if (strategy == core::StrategyKind::kOptimisticLock) {
    return "        params: { id: json:/id, amount: json:/amount, version: json:/version }\n"
           "        statements:\n"
           "          - UPDATE bill SET paid = :amount, version = :version + 1 WHERE id = :id AND "
           "version = :version\n";
  }
  return "        params: { id: json:/id, account: json:/account, amount: json:/amount }\n"
         "        statements:\n"
         "          - UPDATE account SET balance = balance + :amount WHERE id = :account\n"
         "          - INSERT INTO effects(id, account, amount) VALUES (:id, :account, :amount)\n";
}

std::string consumer_yaml(core::StrategyKind strategy, const std::string& database,
                          const std::string& source) {
  return fmt::format(
      "version: 1\n"
      // If a disk stalls for longer than the store waits, that is not the demo's fault.
      "store: {{ sqlite: {{ path: {}, busy: 60s }} }}\n"
      "consumers:\n"
      "  - name: payments\n"
      "    source: {{ {}: {{}} }}\n"
      "    key: {{ from: [json:/id] }}\n"
      "    strategy: {}\n"
      "    dedup: {{ lease: 1s }}\n"
      "    in_flight: {{ messages: 200 }}\n"
      // Workers are killed so soon after their start that every kill may meet the first message,
      // which would then be blamed for the crashes.
      "    retry: {{ crashes: 1000 }}\n",
      json::Writer().value(database).text(), source, core::to_string(strategy));
}

}  // namespace

std::string call_config_yaml(core::StrategyKind strategy, const std::string& database) {
  return consumer_yaml(strategy, database, "queue") + "    handler: { native: payments }\n";
}

std::string config_yaml(core::StrategyKind strategy, const std::string& database,
                        const std::string& source) {
  return consumer_yaml(strategy, database, source) + own_yaml(strategy) +
         "    handler:\n      sql:\n" + statements_yaml(strategy);
}

}  // namespace semel::cli::demo
