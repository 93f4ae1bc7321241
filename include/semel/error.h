// Error: why a port could not do what it was asked.
//
// Outcomes that the business expects (a duplicate, a busy key) are values, never Errors. An Error
// says that the store, the source or the caller's request failed, and its kind says what may be
// done next.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <semel/standard.h>

namespace semel {

enum class ErrorKind {
  kUnavailable,       // not reachable, or not able now; nothing was done; try again later
  kInDoubt,           // a commit whose answer was lost: it may have happened; claim again to know
  kRetryTransaction,  // rolled back as a whole by a conflict; run it again, perhaps smaller
  kBlocked,           // another holder kept what was needed for longer than the given wait
  kRejected,          // the request itself is wrong; the same request will fail again
  kLimit,             // a size limit, which is named, was exceeded; the same request fails again
};

// The kind's name in lower case with underscores, as it appears in logs and JSON.
const char* to_string(ErrorKind kind) noexcept;

// The thing that must change before a failed statement can succeed.
enum class Remedy {
  kTime,       // perhaps nothing: the same may succeed later
  kMessage,    // the message: its values do not fit
  kStatement,  // the statement, the tables or the rights: no message succeeds before
};

struct Error {
  ErrorKind kind = ErrorKind::kRejected;
  std::string code;     // "R210": the page `semel explain R210` prints
  std::string message;  // what is wrong, in the user's words; names the file, key or table
  std::string hint{};   // one concrete change that fixes it; empty when there is none
  Remedy remedy = Remedy::kTime;  // set for a handler's statement
};

// The error as one text, for a log: `[R250] message; fix: hint`. Without the brackets where the
// error has no code of a page, or where its message names that code itself.
std::string to_string(const Error& error);

// An Error as an exception: Transaction, Message, Runner, Guard and Producer throw it. `what` is
// the error as to_string returns it.
class SemelError : public std::runtime_error {
 public:
  explicit SemelError(Error error)
      : std::runtime_error(to_string(error)), error_(std::move(error)) {}
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

}  // namespace semel
