// OutgoingMessage: a message to send, or to keep in a store until it is due. A plain value.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <semel/bytes.h>
#include <semel/key.h>
#include <semel/message.h>

namespace semel {

struct OutgoingMessage {
  Bytes payload{};
  Headers headers{};
  std::string content_type{};
  std::string type{};
  std::optional<Bytes> key{};          // nullopt: the consumer's key recipe finds it in the message
  std::chrono::milliseconds delay{0};  // not before
};

// A message that leaves with a Finish: it becomes a row of the queue of consumer `to`.
struct Outgoing {
  ConsumerNumber to{};
  OutgoingMessage message;
};

}  // namespace semel
