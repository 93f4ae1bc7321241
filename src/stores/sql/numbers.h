// Numbers: where the numbers of new rows come from.
#pragma once

#include <cstdint>

namespace semel::sql {

enum class Counter { kConsumer, kInstance, kHeld, kInbox };

// A server gives a number once, whatever is rolled back. A file gives one once in a transaction,
// and not below those of rows that are there.
class Numbers {
 public:
  virtual ~Numbers() = default;
  virtual std::int64_t next_number(Counter counter) = 0;
};

}  // namespace semel::sql
