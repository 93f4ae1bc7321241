// Numbers: assigns the numbers of new rows.
#pragma once

#include <cstdint>

namespace semel::sql {

enum class Counter { kConsumer, kInstance, kHeld, kInbox };

// A server assigns a number once, even after a rollback. A file assigns one once in a transaction,
// above those of existing rows.
class Numbers {
 public:
  virtual ~Numbers() = default;
  virtual std::int64_t next_number(Counter counter) = 0;
};

}  // namespace semel::sql
