// Makes arrivals of JetStream messages, and parses their reply subjects.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <semel/spi/delivery.h>

struct __natsMsg;

namespace semel::nats {

// Facts about one delivery, from the subject to which its acknowledgement is sent.
struct DeliveryFacts {
  std::uint64_t count = 0;                       // which delivery of the message this is, from one
  std::uint64_t sequence = 0;                    // its place in the stream
  std::uint64_t delivery = 0;                    // its place among the consumer's deliveries
  std::chrono::system_clock::time_point stored;  // when the stream took it
  std::uint64_t pending = 0;                     // messages of the consumer not delivered by then
};
// nullopt: it is no delivery of JetStream's.
std::optional<DeliveryFacts> read_reply(std::string_view reply);

// The headers as they are, one for each value, and the subject as the header nats-subject.
std::unique_ptr<Arrival> arrival_of(__natsMsg& message, const DeliveryFacts& facts);

}  // namespace semel::nats
