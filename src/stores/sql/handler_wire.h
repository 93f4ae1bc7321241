// HandlerWire: sends a handler's statements to one server, and reads its answers.
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

// The number of handler texts that a connection knows at a time: only texts put together from
// values are more numerous.
inline constexpr std::size_t kMostTexts = 512;

struct Ran {
  std::int64_t rows = 0;  // changed, or returned
};
struct Broke {
  std::string sql_class;
  Error error;
  const UniqueRule* rule = nullptr;  // the rule that names the violated constraint
};
// Blocked by a lock of another transaction, for longer than its unit waits.
inline Broke blocked(Error error) {
  error.code = kQueryBlocked;
  return {"busy", std::move(error), nullptr};
}
// Its error then says which statement failed. A blocked one is not at fault, and is not named.
void name_statement(Broke& broke, const RecordedStatement& statement);
struct Told {
  std::variant<Ran, Broke> how;
  Rows rows;  // if they were requested
};

// Savepoints in a transaction: of a flush, of a message that queries, of one query, and their end;
// and the check of its constraints.
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
  kCheck  // check constraints now that would be checked at the commit
};
// The mark as a statement; the reference stays valid.
const std::string& text_of(Mark mark) noexcept;

// Sent statements run in their order, at the latest in `run`. They are borrowed until then.
class HandlerWire {
 public:
  virtual ~HandlerWire() = default;
  virtual void send(Mark mark) = 0;
  // Whether Mark::kCheck has an effect. A refusal of it is one more Told of `run`.
  virtual bool checks_deferred() const noexcept { return false; }
  // Where the statement cannot be sent, sends nothing and returns why.
  virtual std::optional<Broke> send(const RecordedStatement& statement, bool with_rows) = 0;
  // The result of each statement sent, up to the first that broke: nothing after it ran, and no
  // commit. Throws Failure where the store, or another transaction, is at fault.
  virtual std::vector<Told> run() = 0;
};

}  // namespace semel::sql
