// From what a call came to, to the message's verdict and what it says about the endpoint.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <semel/verdict.h>

namespace semel::handlers {

struct Answer {
  enum class Ending {
    kWhole,
    kNotSent,     // there was no connection to send it on
    kNotTrusted,  // nor was there one: the other end's certificate, or ours to check it with
    kBroken,      // the connection ended before the answer did
    kInvalid,     // what came is not HTTP
    kTooLarge,    // beyond a limit, and not read further
    kTimedOut,    // by the handler's own timeout
    kStopped,     // by the attempt's stop token, or the end of the handler
  };

  Ending ending = Ending::kWhole;
  bool sent = true;  // something of the request may have gone
  int status = 0;    // 0: its headers did not come whole
  std::string content_type;
  std::string retry_after;
  std::string location;
  Bytes body;
  std::string error;  // where it is not whole: what happened, in words
};

// Facts of a call that decide what a status speaks of.
struct CallFacts {
  // Its path has places: what is not found or not allowed there is so for this message, and another
  // one asks for something else.
  bool places = false;
  bool undo = false;  // of a step: what it does not find is gone already, or never was
  std::chrono::milliseconds since_first{0};  // since the message's key was first met
};

struct Judged {
  enum class Endpoint {
    kWorks,
    kFails,    // which a call may meet by chance, or by a flaw of its message
    kAtFault,  // every call would fail
    kWaits,    // it asked to be left alone for `wait`
    kGone,     // for good: a person is asked
  };
  Verdict verdict = done();
  Endpoint endpoint = Endpoint::kWorks;
  std::chrono::milliseconds wait{0};
  std::string why;  // for people, where it does not work
};

// `now` is the machine's time, for dates in the answer. `response_limit` is named in texts.
Judged judge(Answer answer, std::size_t response_limit, std::chrono::system_clock::time_point now,
             const CallFacts& call = {});

// Whether an answer that is no success leaves open what became of the call, to who would rather ask
// than call twice.
bool leaves_doubt(int status) noexcept;

// The value of Retry-After: seconds, or a date (RFC 9110); the past is 0. Nothing where it is
// neither.
std::optional<std::chrono::milliseconds> retry_after(std::string_view value,
                                                     std::chrono::system_clock::time_point now);

}  // namespace semel::handlers
