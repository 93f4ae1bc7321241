// TryEnd: the result of one attempt to send one message. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include <semel/error.h>
#include <semel/producer.h>
#include <semel/verdict.h>

namespace semel::producer {

struct TryEnd {
  enum class Kind {
    kSent,
    kAgain,    // another attempt may succeed
    kTooLate,  // it has used all its time
    kFinal,    // no attempt will succeed, until a person fixes something
  };
  Kind kind = Kind::kSent;
  bool unknown = false;                            // unless kSent: it may have arrived nevertheless
  std::optional<std::chrono::milliseconds> after;  // kAgain: not before
  bool asked = false;                              // the receiver asked for `after`
  Bytes answer;                                    // kSent
  Error error;                                     // unless kSent; its code may be empty
  std::string reason;
};

// From a publishing handler's verdict. A fault that an operator must fix is worth a consumer's
// patience, but not that of a caller who waits for an answer.
TryEnd end_of(const Verdict& verdict);
// From a store's error about its queue.
TryEnd end_of(Error error);

// Characters of a key that an error's message shows. SendError::key has all of them.
inline constexpr std::size_t kMostKeyText = 80;

// The error of a message whose last attempt ended so. `unknown`: one of its attempts may have
// arrived.
SendError send_error(Bytes key, const TryEnd& last, bool unknown);

}  // namespace semel::producer
