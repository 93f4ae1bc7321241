// TransactionRecorder: records a handler's Transaction calls for the strategy that runs it.
//
// One for each call of a handler; outlives its Transaction. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <semel/spi/recorded_statement.h>
#include <semel/statement.h>
#include <semel/transaction.h>
#include <semel/verdict.h>

namespace semel::core {

class TransactionRecorder {
 public:
  // Executes Transaction::query: `recorded` are the statements before it.
  class Queries {
   public:
    virtual ~Queries() = default;
    virtual Rows query(const RecordedStatement& statement, StatementList& recorded) = 0;
  };

  explicit TransactionRecorder(Queries& queries) : queries_(queries) {}
  TransactionRecorder(const TransactionRecorder&) = delete;
  TransactionRecorder& operator=(const TransactionRecorder&) = delete;

  static TransactionRecorder& of(Transaction& transaction) noexcept {
    return transaction.recorder_;
  }

  // Both throw StatementRefused.
  void record(RecordedStatement statement);
  void record(std::string_view sql, std::vector<Value> values);
  // Throws StatementRefused and StatementFailed.
  Rows query(std::string_view sql, std::vector<Value> values);

  StatementList& statements() noexcept { return statements_; }
  std::vector<Publication>& publications() noexcept { return publications_; }

  // Judges the next statement that writes `table`, whether it is recorded or queried.
  void judge_first_write(std::string table, std::shared_ptr<const RowsRule> rule);
  // Whether that statement is still to come.
  bool awaits_write() const noexcept { return first_write_ != nullptr; }

 private:
  void add(RecordedStatement statement);
  bool is_first_write(const Statement& statement) const;

  Queries& queries_;
  StatementList statements_;
  std::vector<Publication> publications_;
  std::string first_write_table_;
  std::shared_ptr<const RowsRule> first_write_;
};

}  // namespace semel::core
