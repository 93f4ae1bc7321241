// Makes arrivals of AMQP messages: the body as it is, header table and properties as headers.
#pragma once

#include <cstdint>
#include <memory>

#include <semel/spi/delivery.h>

struct amqp_basic_properties_t_;

namespace semel::rabbitmq {

// Everything except the body. Numbers, booleans and timestamps become text, tables and lists in the
// header table JSON; a property becomes a header amqp-NAME, if it has no field of its own.
std::unique_ptr<Arrival> arrival_of(const amqp_basic_properties_t_& properties);

// How often a quorum queue has delivered it before; zero where it does not say.
std::int64_t brought_before(const Headers& headers);
// Whether it is a message of a stream: its acknowledgement means nothing, and nothing comes again.
bool is_of_stream(const Headers& headers);

}  // namespace semel::rabbitmq
