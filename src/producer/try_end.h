// TryEnd: what became of one try to send one message. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <semel/error.h>
#include <semel/producer.h>
#include <semel/verdict.h>

namespace semel::producer {

struct TryEnd {
  enum class Kind {
    kSent,
    kAgain,    // another try may go through
    kTooLate,  // it had all the time there was
    kFinal,    // none will, until a person mends something
  };
  Kind kind = Kind::kSent;
  bool unknown = false;                            // unless kSent: it may have arrived all the same
  std::optional<std::chrono::milliseconds> after;  // kAgain: not before
  bool asked = false;                              // the receiver asked for `after`
  Bytes answer;                                    // kSent
  Error error;                                     // unless kSent; its code may be empty
  std::string reason;
};

// What a publishing handler said. What an operator has to mend is worth a consumer's patience, and
// not that of someone who waits for an answer.
TryEnd end_of(const Verdict& verdict);
// What a store said of its queue.
TryEnd end_of(Error error);

// The error of a message whose last try ended so. `unknown`: one of its tries may have arrived.
SendError send_error(Bytes key, const TryEnd& last, bool unknown);

}  // namespace semel::producer
