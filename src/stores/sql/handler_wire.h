// HandlerWire: how one server is sent a handler's statements, and what it answers to them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <semel/spi/recorded_statement.h>
#include <semel/spi/unit_of_work.h>

namespace semel::sql {

// So many texts of handlers are known to a connection at a time: only texts put together from
// values come in larger numbers.
inline constexpr std::size_t kMostTexts = 512;

struct Ran {
  std::int64_t rows = 0;  // changed, or returned
};
struct Broke {
  std::string sql_class;
  Error error;
  const UniqueRule* rule = nullptr;  // the violation was named
};
// By what another transaction has locked, for longer than its unit waits.
inline Broke blocked(Error error) {
  error.code = kQueryBlocked;
  return {"busy", std::move(error), nullptr};
}
struct Told {
  std::variant<Ran, Broke> how;
  Rows rows;  // where they were asked for
};

// Marks in a transaction: of a flush, of a message that asks, of one question, and its end; and the
// check of its constraints.
enum class Mark {
  kFlush,
  kBackToFlush,
  kMessage,
  kBackToMessage,
  kReleaseMessage,
  kQuestion,
  kBackToQuestion,
  kReleaseQuestion,
  kCommit,
  kCheck  // constraints that would be checked at the commit are checked now
};
// As a statement; it stays where it is.
const std::string& text_of(Mark mark) noexcept;

// What is sent runs in its order, and no later than `run`. What is sent is borrowed until then.
class HandlerWire {
 public:
  virtual ~HandlerWire() = default;
  virtual void send(Mark mark) = 0;
  // Whether Mark::kCheck means anything there. What it refuses is one more Told of `run`.
  virtual bool checks_deferred() const noexcept { return false; }
  // Nothing is sent, and why is returned, where that cannot be done.
  virtual std::optional<Broke> send(const RecordedStatement& statement, bool with_rows) = 0;
  // What became of each statement sent, up to the first that broke: behind it nothing ran, and no
  // commit. Throws Failure where the store, or another transaction, is at fault.
  virtual std::vector<Told> run() = 0;
};

}  // namespace semel::sql
