// Reads a partition's queue, and makes arrivals of records.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <semel/spi/delivery.h>

#include "sources/kafka/assignment.h"

namespace semel::kafka {

// The next entry of a partition's queue: one of the three, or none if the queue is empty.
struct Taken {
  struct Failure {
    int code = 0;
    std::string said;
  };
  RecordPtr record;
  std::optional<std::int64_t> end;  // the partition was fetched up to its end at this offset
  std::optional<Failure> failure;
};
// Never waits. An error comes as an event, not by the client's callback, so a lock may be held.
Taken take(const Partition& partition);

// Fills an arrival from a record. Without a value its payload is empty. Its tag is that of the
// partition. Only a timestamp set by the broker is used.
void fill(Arrival& arrival, const rd_kafka_message_s& record, const Partition& partition);

// Its timestamp, whoever gave it.
std::optional<std::chrono::system_clock::time_point> sent_at(const rd_kafka_message_s& record);

}  // namespace semel::kafka
