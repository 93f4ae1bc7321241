// Maps the result of a call to the message's verdict and to news about the endpoint.
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
  enum class TransferState {
    kWhole,
    kNotSent,     // there was no connection to send it on
    kNotTrusted,  // likewise: the other end's certificate, or ours to check it with
    kBroken,      // the connection ended before the answer did
    kInvalid,     // the answer is not HTTP
    kTooLarge,    // beyond a limit, and not read further
    kTimedOut,    // by the handler's own timeout
    kStopped,     // by the attempt's stop token, or the end of the handler
  };

  TransferState state = TransferState::kWhole;
  bool sent = true;  // something of the request may have been sent
  int status = 0;    // 0: its headers did not arrive completely
  std::string content_type;
  std::string retry_after;
  std::string location;
  Bytes body;
  std::string error;  // where it is not whole: what happened, in words
};

// Facts of a call that decide what a status means.
struct CallFacts {
  // Its path has places: "not found" and "not allowed" concern this message only, since another one
  // asks for another resource.
  bool places = false;
  bool undo = false;  // of a step: what it does not find is undone already, or never happened
  std::chrono::milliseconds since_first{0};  // since the message's key was first met
};

struct Judged {
  enum class Endpoint {
    kWorks,
    kFails,    // by chance, or because of a flaw of its message
    kAtFault,  // every call would fail
    kDenies,   // every call, or this message alone
    kWaits,    // it asked for a pause of `wait`
    kGone,     // as kDenies; if for every call, for good: a person must act
  };
  Verdict verdict = done();
  Endpoint endpoint = Endpoint::kWorks;
  std::chrono::milliseconds wait{0};
  std::string why;  // for people, where the endpoint does not work
};

// `now` is the machine's time, for dates in the answer. `response_limit` appears in texts.
Judged judge(Answer answer, std::size_t response_limit, std::chrono::system_clock::time_point now,
             const CallFacts& call = {});

// Whether an unsuccessful answer leaves it unknown whether the call had its effect, for a consumer
// that would rather ask than call twice.
bool leaves_doubt(int status) noexcept;

// The value of Retry-After: seconds, or a date (RFC 9110); the past is 0. nullopt where it is
// neither.
std::optional<std::chrono::milliseconds> retry_after(std::string_view value,
                                                     std::chrono::system_clock::time_point now);

}  // namespace semel::handlers
