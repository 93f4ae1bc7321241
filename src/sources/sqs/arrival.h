// Makes arrivals of SQS messages: the body as it is, attributes as headers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <semel/spi/delivery.h>

namespace semel::sqs {

struct ReceivedMessage {
  std::unique_ptr<Arrival> arrival;
  std::string receipt;  // of this receive
  std::int64_t receives = 0;
};

// `message`: one of an answer, as valid JSON. Attributes of its producer become headers, a binary
// one its bytes; attributes of the service become headers sqs-…, and a producer's attribute with
// such a name attribute-sqs-…. A deduplication id that is the digest of the body was made by the
// service, and is no broker_key.
ReceivedMessage message_of(std::string_view message);

}  // namespace semel::sqs
