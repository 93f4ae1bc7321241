// What stands in a partition's queue, and a record of it as an arrival.
#pragma once

#include <semel/delivery.h>

#include "sources/kafka/assignment.h"

namespace semel::kafka {

// The next one of the partition's queue: a record, its end or an error. Null: there is none. Never
// waits.
MessagePtr take(const Partition& partition);

// A record. Without a value its payload is empty. Its tag is the partition's. Only a time that the
// broker gave is its time.
void fill(Arrival& arrival, const rd_kafka_message_s& record, const Partition& partition);

}  // namespace semel::kafka
