// What stands in a partition's queue: records, its end, errors.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include <semel/delivery.h>

#include "sources/kafka/assignment.h"
namespace semel::kafka {

struct Nothing {};
struct PartitionEnd {
  std::int64_t next = 0;  // the offset of what comes there
};
struct PartitionError {
  int code = 0;
  std::string said;
};
struct Record {
  std::int64_t offset = 0;
  // Without a value its payload is empty. Its tag is the partition's. Only a time that the broker
  // gave is its time.
  Arrival arrival;
};
using Taken = std::variant<Nothing, PartitionEnd, PartitionError, Record>;

// The next one of the partition's queue; never waits.
Taken take(const Partition& partition);

}  // namespace semel::kafka
