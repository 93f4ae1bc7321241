// HandlerLife: while it lives, points of the handler's own code belong to a simulated process.
#pragma once

#include "testing/life.h"

namespace semel::testkit {

// They nest when a paused handler's messages are handled by another process.
class HandlerLife {
 public:
  explicit HandlerLife(Life& life) noexcept;
  ~HandlerLife();
  HandlerLife(const HandlerLife&) = delete;
  HandlerLife& operator=(const HandlerLife&) = delete;

 private:
  Life* const before_;
};

}  // namespace semel::testkit
