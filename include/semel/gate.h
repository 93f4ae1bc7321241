// Gate: a handler reports with it that not the message but the other end is at fault.
//
// While a consumer's gate is shut, none of its messages begin, so that a service that is down or
// has moved does not turn a queue into dead letters. Running handlers go on. Thread-safe.
#pragma once

#include <chrono>
#include <string_view>

#include <semel/standard.h>

namespace semel {

class Gate {
 public:
  virtual ~Gate() = default;

  // Nothing begins for `time`, then one message alone: it opens the gate with `open`, or shuts it
  // again. While the gate is shut, a call with an earlier end changes nothing. `why` is for people.
  virtual void shut(std::chrono::milliseconds time, std::string_view why) noexcept = 0;
  // The other end answered: messages begin as before. Does nothing where the gate is open or
  // paused.
  virtual void open() noexcept = 0;
  // Nothing begins until a person resumes the consumer; kept in the store over restarts.
  virtual void pause(std::string_view why) noexcept = 0;
};

}  // namespace semel
