// Attempt: which try of a message a handler is running, and when it should stop.
#pragma once

#include <stop_token>

#include <semel/lease.h>

namespace semel {

struct Attempt {
  int number = 1;           // counts from 1
  bool taken_over = false;  // a try before this one ended in the dark: it may have made its effect
  Token token{};  // fence for the outside; zero where the record's transaction is the fence
  // Fires when the handler's timeout passes, the lease is lost, or a drain runs out of patience. A
  // handler that does not look at it is not killed; its late result is refused.
  std::stop_token stop;
};

}  // namespace semel
