// StatementList: the statements that a handler gave its transaction, recorded for the store to run,
// with the results that were declared for them.
//
// Plain values; a store reads them in UnitOfWork::run and UnitOfWork::query (unit_of_work.h).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>
#include <semel/statement.h>
#include <semel/verdict.h>

namespace semel {

// How the message ends when a declared miss happens. `duplicate`: its effect is known to have
// happened before (a named unique violation); the verdict is then ignored.
struct Otherwise {
  Verdict verdict = done();
  bool duplicate = false;
  // The verdict's reason names the statement, and miss_of completes it with the two numbers of
  // rows.
  bool tells_rows = false;
  // The version of the business row, where the message came too early for it.
  std::optional<std::int64_t> early_for = {};
};

// A unique constraint named by table and columns, as `reservations(order_id)`.
struct UniqueRule {
  std::string constraint;
  Otherwise otherwise;
};

// One admitted statement: SQL text with `?` placeholders. Immutable and shared between recordings.
struct Statement {
  std::string sql;
  std::size_t placeholders = 0;
  bool returns_rows = false;  // SELECT, or … RETURNING
  // Placeholders before its WHERE: the values behind them say which rows are meant.
  std::size_t before_where = 0;
  // Tables that it names as written, without their schemas and quotes.
  std::vector<std::string> writes = {};
  // The text as the user wrote it, which errors show; empty where that is `sql`.
  std::string written = {};
  bool only_reads() const noexcept { return returns_rows && writes.empty(); }
};

// Checks SQL text and makes a Statement of it. Admitted are SELECT, INSERT, UPDATE, DELETE,
// REPLACE, VALUES and WITH; one statement; `?` placeholders only. COMMIT, ROLLBACK, DDL, PRAGMA,
// ATTACH, a write to a `semel_…` table and all else are refused with kRejected
// (docs/contract.md, rule 21).
Result<std::shared_ptr<const Statement>> admit_statement(std::string_view sql);

// Judges whether a statement did what it should, where a number of rows says too little: a declared
// miss in more words (docs/contract.md, rule 9). Immutable and shared between recordings; called by
// any thread, in the transaction. Never throws.
class RowsRule {
 public:
  virtual ~RowsRule() = default;
  RowsRule() = default;
  RowsRule(const RowsRule&) = delete;
  RowsRule& operator=(const RowsRule&) = delete;

  // `count`: rows changed, or returned, which are `rows` then. nullopt: it did what it should.
  virtual std::optional<Otherwise> judge(std::int64_t count, const Rows& rows) const noexcept = 0;
};

// Names a thing that only one transaction may hold at a time: a digest, equal for equal things.
struct LockName {
  static constexpr std::size_t kSize = 16;
  std::array<unsigned char, kSize> bytes{};
  auto operator<=>(const LockName&) const = default;
};

// A business row, and the version of it that a message's change is based on.
struct RowVersion {
  LockName row;
  std::int64_t version = 0;
};

struct RecordedStatement {
  std::shared_ptr<const Statement> statement;
  std::vector<Value> values;
  std::optional<std::int64_t> expect_rows;  // rows changed (or returned) must be this many
  Otherwise otherwise;                      // else this
  std::shared_ptr<const std::vector<UniqueRule>> unique_rules;  // may be null
  std::shared_ptr<const RowsRule> rule = {};  // may be null; asked where `expect_rows` is none
  // Taken before the statement runs, waited for as a row lock is, and held until the transaction
  // ends: it does the work of a row lock for a row that may not exist. A store with one writer
  // needs none.
  std::optional<LockName> lock = {};
  // Messages about one row run in the order of these versions.
  std::optional<RowVersion> version = {};
};
using StatementList = std::vector<RecordedStatement>;

// The declared outcome that a statement with `count` and `rows` has missed; nullopt: none.
[[nodiscard]] std::optional<Otherwise> miss_of(const RecordedStatement& recorded,
                                               std::int64_t count, const Rows& rows) noexcept;

}  // namespace semel
