// Converts bytes to AMQP's type and back. Include it where amqp.h is included.
#pragma once

#include <string>
#include <string_view>

namespace semel::rabbitmq {

// Borrowed. `Amqp`: amqp_bytes_t.
template <class Amqp>
Amqp borrowed(std::string_view text) {
  return {text.size(), const_cast<char*>(text.data())};
}

template <class Amqp>
std::string_view view_of(const Amqp& bytes) {
  return bytes.len == 0 ? std::string_view()
                        : std::string_view(static_cast<const char*>(bytes.bytes), bytes.len);
}

}  // namespace semel::rabbitmq
