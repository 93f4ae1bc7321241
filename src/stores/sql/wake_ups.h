// WakeUps: wakes waiting processes when new held messages arrive.
#pragma once

#include <optional>

#include <semel/key.h>

#include "stores/sql/session.h"

namespace semel::sql {

// Thread-safe.
class WakeUps {
 public:
  virtual ~WakeUps() = default;
  // One descriptor for calls that name no consumer, and one for each consumer; -1 where the store
  // has none.
  virtual int fd(std::optional<ConsumerNumber> consumer) noexcept = 0;
  // Earlier wake-ups are consumed.
  virtual void drain(ConsumerNumber consumer) = 0;
  // Queues a notification to all processes that is sent by the commit.
  virtual void ring(Session& session, ConsumerNumber consumer) = 0;
};

}  // namespace semel::sql
