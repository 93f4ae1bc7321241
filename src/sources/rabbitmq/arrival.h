// A message as AMQP brings it, as an arrival: its body as it is, its header table and its
// properties as headers.
#pragma once

#include <cstdint>
#include <memory>

#include <semel/spi/delivery.h>

struct amqp_basic_properties_t_;

namespace semel::rabbitmq {

// What stands in front of the body. Numbers, booleans and timestamps become text, tables and lists
// in the header table JSON; a property becomes a header amqp-NAME, where it has no place of its
// own.
std::unique_ptr<Arrival> arrival_of(const amqp_basic_properties_t_& properties);

// How often a quorum queue has brought it before; zero where it does not say.
std::int64_t brought_before(const Headers& headers);
// A stream's message: its acknowledgement says nothing, and nothing comes again.
bool is_of_stream(const Headers& headers);

}  // namespace semel::rabbitmq
