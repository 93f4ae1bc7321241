// HeldMessage: what a store is given to keep until it is due.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <semel/bytes.h>
#include <semel/key.h>
#include <semel/message.h>

namespace semel {

struct HeldMessage {
  Bytes payload;
  Headers headers;
  std::string content_type;
  std::string type;
  std::optional<Bytes> key;            // given by the sender; none: the consumer's recipe finds it
  std::chrono::milliseconds delay{0};  // not before
};

// A message that leaves with a Finish: a row of the consumer's queue, whoever that is.
struct Outgoing {
  ConsumerNumber to{};
  HeldMessage message;
};

}  // namespace semel
