// delivered: what these tests deliver, with fewer random runs than a user has, except at night.
#pragma once

#include <utility>
#include <vector>

#include <semel/testing/deliver.h>

#include "tests/support/rounds.h"

namespace semel::testkit {

// Each fault alone comes at each point, always.
template <class Handler>
Report delivered(Handler handler, std::vector<TestMessage> messages, DeliverOptions options = {}) {
  constexpr std::size_t kOfADay = 20;
  if (options.random_runs > 0) options.random_runs = test::rounds(options.random_runs, kOfADay);
  return deliver(std::move(handler), std::move(messages), std::move(options));
}

}  // namespace semel::testkit
