// Transaction: what a handler sees of the database transaction in which its message is handled.
//
// Its statements commit together with the message's record, or not at all. There is no commit and
// no rollback here: returning a Verdict ends the message's part.
//
// `exec` records and returns at once: errors and row counts arrive when the batch is flushed.
// `query` sends what was recorded before it, for this message and those before it in the batch, and
// waits: on a server it costs a round trip, and the handler runs again if the batch must be
// repeated.
//
// Use it from the handler's own thread, during the call only.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <semel/attempt.h>
#include <semel/statement.h>

namespace semel {

// What a handler's SQL error becomes when it is thrown by `query`. `sql_class` is the last part of
// the reason `handler.sql.<class>`.
class StatementFailed : public SemelError {
 public:
  StatementFailed(Error error, std::string sql_class)
      : SemelError(std::move(error)), sql_class_(std::move(sql_class)) {}
  const std::string& sql_class() const noexcept { return sql_class_; }

 private:
  std::string sql_class_;
};

// Thrown by `exec` and `query` for SQL that is not admitted, or whose values do not fit.
class StatementRefused : public SemelError {
 public:
  using SemelError::SemelError;
};

class Transaction {
 public:
  // Where `query` goes. Implemented by strategies; a handler never meets it.
  class Queries {
   public:
    virtual ~Queries() = default;
    virtual Rows query(const RecordedStatement& statement, StatementList& recorded) = 0;
  };

  // What `exec` returns: says what the recorded statement must have done.
  class Recorded {
   public:
    // Rows changed must be `rows`, else the message's statements are undone and it ends so.
    Recorded& expect_rows(std::int64_t rows, Verdict otherwise);
    // A violation of this unique constraint (`table(column, …)`) is expected: the message's
    // statements are undone and it ends so. Violations not named are the handler's errors.
    Recorded& on_unique_violation(std::string constraint, Verdict otherwise);

   private:
    friend class Transaction;
    Recorded(StatementList& list, std::size_t index) : list_(list), index_(index) {}
    StatementList& list_;
    std::size_t index_;
  };

  Transaction(Queries& queries, Attempt attempt)
      : queries_(queries), attempt_(std::move(attempt)) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // Records `sql`, with a value for each `?`. Integers, floating point, bool (0 or 1), strings,
  // Blob, Decimal, Null and Value are taken. Throws StatementRefused.
  template <class... Args>
  Recorded exec(std::string_view sql, Args&&... args) {
    return record(sql, pack(std::forward<Args>(args)...));
  }

  // Runs `sql` now and returns its rows. Throws StatementRefused and StatementFailed.
  template <class... Args>
  Rows query(std::string_view sql, Args&&... args) {
    return query_values(sql, pack(std::forward<Args>(args)...));
  }

  // The same with statement and values prepared by the caller.
  Recorded record(RecordedStatement statement);

  // Sent once this transaction has committed, and not before (the outbox); forgotten where the
  // handler says anything but done.
  void publish(std::string destination, HeldMessage message) {
    publications_.push_back({std::move(destination), std::move(message)});
  }

  const Attempt& attempt() const noexcept { return attempt_; }

  // For the strategy that owns this transaction. The list so far; and what the first statement to
  // come that writes `table` must do, be it recorded or asked for its rows.
  StatementList& recorded() noexcept { return list_; }
  std::vector<Publication>& publications() noexcept { return publications_; }
  void judge_first_write(std::string table, std::shared_ptr<const RowsRule> rule);
  // That statement is still to come.
  bool awaits_write() const noexcept { return first_write_ != nullptr; }

 private:
  template <class T>
  static Value to_value(T&& v) {
    using D = std::decay_t<T>;
    if constexpr (std::same_as<D, Value>) {
      return std::forward<T>(v);
    } else if constexpr (std::integral<D>) {
      static_assert(sizeof(D) < 8 || std::is_signed_v<D>,
                    "no column holds a 64-bit unsigned integer");
      return static_cast<std::int64_t>(v);
    } else if constexpr (std::floating_point<D>) {
      return static_cast<double>(v);
    } else if constexpr (std::same_as<D, Null> || std::same_as<D, Blob> ||
                         std::same_as<D, Decimal>) {
      return Value(std::forward<T>(v));
    } else {
      return std::string(std::forward<T>(v));
    }
  }
  template <class... Args>
  static std::vector<Value> pack(Args&&... args) {
    std::vector<Value> values;
    values.reserve(sizeof...(Args));
    (values.push_back(to_value(std::forward<Args>(args))), ...);
    return values;
  }
  Recorded record(std::string_view sql, std::vector<Value> values);
  Rows query_values(std::string_view sql, std::vector<Value> values);
  void add(RecordedStatement statement);
  bool is_first_write(const Statement& statement) const;

  Queries& queries_;
  Attempt attempt_;
  StatementList list_;
  std::vector<Publication> publications_;
  std::string first_write_table_;
  std::shared_ptr<const RowsRule> first_write_;
};

}  // namespace semel
