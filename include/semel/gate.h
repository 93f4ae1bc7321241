// Gate: a handler uses it to report that the service it calls is at fault, not the message.
//
// While a consumer's gate is shut, none of its messages begin, so that a service that is down or
// has moved does not turn a queue into dead letters. Handlers that run continue. Thread-safe.
#pragma once

#include <chrono>
#include <string_view>

#include <semel/standard.h>

namespace semel {

class Gate {
 public:
  virtual ~Gate() = default;

  // No message begins for `time`; then a single message is tried, whose handler calls `open` or
  // shuts the gate again. A call that would end the current shut earlier changes nothing. `why` is
  // for people.
  virtual void shut(std::chrono::milliseconds time, std::string_view why) noexcept = 0;
  // The service answered: messages begin as before. Does nothing where the gate is open or paused.
  virtual void open() noexcept = 0;
  // No message begins until a person resumes the consumer. The store keeps the pause over restarts.
  virtual void pause(std::string_view why) noexcept = 0;
};

}  // namespace semel
