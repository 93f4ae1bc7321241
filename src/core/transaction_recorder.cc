#include "core/transaction_recorder.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/ascii.h"
#include "core/statement_text.h"

namespace semel::core {
namespace {

// A handler uses the same few texts again and again; admitting one costs far more than finding it.
class StatementCache {
 public:
  static StatementCache& of_thread() {
    thread_local StatementCache cache;
    return cache;
  }

  // Throws StatementRefused.
  const std::shared_ptr<const Statement>& admitted(std::string_view sql) {
    if (const auto known = statements_.find(sql); known != statements_.end()) return known->second;
    Result<std::shared_ptr<const Statement>> statement = admit_statement(sql);
    if (!statement) {
      name_statement(statement.error(), sql);
      throw StatementRefused(std::move(statement.error()));
    }
    // Only texts that are put together from values come in such numbers.
    if (statements_.size() == kMost) statements_.clear();
    return statements_.emplace(sql, std::move(*statement)).first->second;
  }

 private:
  static constexpr std::size_t kMost = 1024;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, std::shared_ptr<const Statement>, Hash, std::equal_to<>>
      statements_;
};

void check_values(const RecordedStatement& recorded) {
  const std::size_t wanted = recorded.statement->placeholders;
  if (recorded.values.size() == wanted) return;
  throw StatementRefused(
      {ErrorKind::kRejected, "",
       fmt::format("{} values were given for the {} placeholders of: {}", recorded.values.size(),
                   wanted, statement_text(written_text(*recorded.statement))),
       "give one value for each `?`"});
}

RecordedStatement recorded_of(std::string_view sql, std::vector<Value> values) {
  RecordedStatement recorded;
  recorded.statement = StatementCache::of_thread().admitted(sql);
  recorded.values = std::move(values);
  check_values(recorded);
  return recorded;
}

}  // namespace

void TransactionRecorder::record(RecordedStatement statement) {
  if (!statement.statement) {
    throw StatementRefused({ErrorKind::kRejected, "", "no statement was given", ""});
  }
  check_values(statement);
  add(std::move(statement));
}

void TransactionRecorder::record(std::string_view sql, std::vector<Value> values) {
  add(recorded_of(sql, std::move(values)));
}

void TransactionRecorder::judge_first_write(std::string table,
                                            std::shared_ptr<const RowsRule> rule) {
  first_write_table_ = std::move(table);
  first_write_ = std::move(rule);
}

bool TransactionRecorder::is_first_write(const Statement& statement) const {
  return first_write_ &&
         std::any_of(statement.writes.begin(), statement.writes.end(),
                     [&](const auto& table) { return ascii::alike(table, first_write_table_); });
}

void TransactionRecorder::add(RecordedStatement statement) {
  if (is_first_write(*statement.statement)) statement.rule = std::exchange(first_write_, nullptr);
  statements_.push_back(std::move(statement));
}

Rows TransactionRecorder::query(std::string_view sql, std::vector<Value> values) {
  const RecordedStatement asked = recorded_of(sql, std::move(values));
  const auto rule =
      is_first_write(*asked.statement) ? std::exchange(first_write_, nullptr) : nullptr;
  Rows rows = queries_.query(asked, statements_);
  // A statement that returns no rows does not show here what it changed.
  if (!rule || !asked.statement->returns_rows) return rows;
  const auto otherwise = rule->judge(static_cast<std::int64_t>(rows.rows.size()), rows);
  if (!otherwise) return rows;
  throw StatementFailed(
      {ErrorKind::kRejected, "handler.sql.expect_rows", otherwise->verdict.reason(), {}},
      "expect_rows");
}

}  // namespace semel::core
