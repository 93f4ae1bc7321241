// Attempt: which try of a message a handler is running, and when it should stop.
#pragma once

#include <chrono>
#include <stop_token>
#include <string_view>

#include <semel/gate.h>
#include <semel/lease.h>

namespace semel {

struct Attempt {
  int number = 1;           // counts from 1
  bool taken_over = false;  // a try before this one ended in the dark: it may have made its effect
  std::chrono::milliseconds since_first{0};  // since the key was first met, by the store's clock
  std::string_view position;  // of this copy within its source; good for the call only
  Token token{};  // fence for the outside; zero where the record's transaction is the fence
  // Fires when the handler's timeout passes, the lease is lost, or a drain runs out of patience. A
  // handler that does not look at it is not killed; its late result is refused.
  std::stop_token stop;
  // Of the consumer, where a runner runs it; else null. Good until the call is answered.
  Gate* gate = nullptr;
};

}  // namespace semel
