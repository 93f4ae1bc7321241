// WakeUps: who waits for held messages hears of new ones.
#pragma once

#include <optional>

#include <semel/key.h>

#include "stores/sql/session.h"

namespace semel::sql {

// Any thread.
class WakeUps {
 public:
  virtual ~WakeUps() = default;
  // One for all that name no consumer, and one for each consumer; -1 where the store cannot tell.
  virtual int fd(std::optional<ConsumerNumber> consumer) noexcept = 0;
  // What was told until now is known.
  virtual void drain(ConsumerNumber consumer) = 0;
  // Queues a word to all processes that goes with the commit.
  virtual void ring(Session& session, ConsumerNumber consumer) = 0;
};

}  // namespace semel::sql
