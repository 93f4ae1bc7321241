// Gate: how a handler says that not the message but the other end is at fault.
//
// While a consumer's gate is shut nothing of it is begun, so that a service that is down or was
// moved does not turn a queue into dead letters. What is running goes on. Any thread may call.
#pragma once

#include <chrono>
#include <string_view>

#include <semel/standard.h>

namespace semel {

class Gate {
 public:
  virtual ~Gate() = default;

  // Begin nothing for `time`, then one message alone: it opens the gate with `open`, or shuts it
  // again. While it is shut a call that would end earlier changes nothing.
  virtual void shut(std::chrono::milliseconds time, std::string_view why) noexcept = 0;
  // The other end answered: begin as many as ever. Does nothing where the gate is open or paused.
  virtual void open() noexcept = 0;
  // Begin nothing until a person resumes the consumer; kept in the store, over restarts.
  virtual void pause(std::string_view why) noexcept = 0;
};

}  // namespace semel
