// Transaction: what a handler sees of the database transaction in which its message is handled.
//
// Its statements commit together with the message's record, or not at all. There is no commit and
// no rollback here: returning a Verdict ends the message's part.
//
// `exec` records and returns immediately: errors and row counts arrive when the batch is flushed.
// `query` sends what was recorded before it, for this message and those before it in the batch, and
// waits: on a server it costs a round trip, and the handler runs again if the batch must be
// repeated.
//
// Borrowed for the call: use it from the handler's own thread, until the handler returns. To test a
// handler use semel/testing/deliver.h.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <semel/attempt.h>
#include <semel/error.h>
#include <semel/outgoing_message.h>
#include <semel/statement.h>
#include <semel/verdict.h>

namespace semel {

// Thrown by `query` where the database refused its statement. `sql_class` is the last part of the
// reason `handler.sql.<class>`. Uncaught in a handler it is a failed attempt; where a table,
// a column or a right is missing, the message is dead at once.
class StatementFailed : public SemelError {
 public:
  StatementFailed(Error error, std::string sql_class)
      : SemelError(std::move(error)), sql_class_(std::move(sql_class)) {}
  const std::string& sql_class() const noexcept { return sql_class_; }

 private:
  std::string sql_class_;
};

// Thrown by `exec` and `query` for SQL that is not admitted, or whose values do not fit its
// placeholders. Admitted are SELECT, INSERT, UPDATE, DELETE, REPLACE, VALUES and WITH; one
// statement; `?` placeholders only (docs/contract.md, rule 21).
class StatementRefused : public SemelError {
 public:
  using SemelError::SemelError;
};

namespace core {
class TransactionRecorder;
}

class Transaction {
 public:
  // A statement recorded by `exec`, on which its required result is declared. Valid for the call.
  class Recorded {
   public:
    // It must change exactly `rows` rows; if not, all statements of the message are undone, and the
    // message ends with `otherwise`.
    Recorded& expect_rows(std::int64_t rows, Verdict otherwise);
    // A violation of this unique constraint, written as `table(column, …)`, is expected: the
    // message's statements are undone, and it ends with `otherwise`. A violation that is not named
    // is an error of the handler.
    Recorded& on_unique_violation(std::string constraint, Verdict otherwise);

   private:
    friend class Transaction;
    Recorded(core::TransactionRecorder& recorder, std::size_t index)
        : recorder_(recorder), index_(index) {}
    core::TransactionRecorder& recorder_;
    std::size_t index_;
  };

  // Constructed by the code that runs handlers.
  Transaction(core::TransactionRecorder& recorder, Attempt attempt)
      : recorder_(recorder), attempt_(std::move(attempt)) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // Records `sql`, with a value for each `?`: integers, floating point, bool (0 or 1), strings,
  // Blob, Decimal, Value, std::optional of any of these (nullopt is NULL), and NULL as Null or
  // nullptr. A char* must not be null. Throws StatementRefused.
  template <class... Args>
  Recorded exec(std::string_view sql, Args&&... args) {
    return record(sql, pack(std::forward<Args>(args)...));
  }

  // Runs `sql` now and returns its rows. Throws StatementRefused and StatementFailed.
  template <class... Args>
  Rows query(std::string_view sql, Args&&... args) {
    return query_values(sql, pack(std::forward<Args>(args)...));
  }

  // The message is sent once this transaction has committed, and not before (the outbox). It is
  // dropped where the handler returns anything but done(). `destination` is another consumer whose
  // source is the queue; under a Guard, one of GuardOptions::receivers.
  void publish(std::string destination, OutgoingMessage message);

  const Attempt& attempt() const noexcept { return attempt_; }

 private:
  friend class core::TransactionRecorder;

  template <class T>
  static Value to_value(T&& v) {
    using D = std::decay_t<T>;
    if constexpr (std::same_as<D, Value>) {
      return std::forward<T>(v);
    } else if constexpr (std::same_as<D, std::nullptr_t> || std::same_as<D, std::nullopt_t>) {
      return Null{};
    } else if constexpr (requires { []<class U>(const std::optional<U>&) {}(v); }) {
      return v ? to_value(*std::forward<T>(v)) : Value(Null{});
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
      static_assert(std::constructible_from<std::string, T>,
                    "a value is an integer, a floating point number, a bool, a string, a Blob, a "
                    "Decimal, a Value, an optional of these, Null or nullptr");
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

  core::TransactionRecorder& recorder_;
  Attempt attempt_;
};

}  // namespace semel
