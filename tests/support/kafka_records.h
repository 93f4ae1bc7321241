// Reads the records of a topic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/kafka_server.h"

namespace semel::test {

// All of it, partition by partition, each in its order. A record without a value has an empty one.
std::vector<KafkaServer::Record> records_of(const KafkaServer& server, const std::string& topic,
                                            int partitions = 1);

// The first of that name; "(none)".
std::string header_of(const KafkaServer::Record& record, std::string_view name);

}  // namespace semel::test
