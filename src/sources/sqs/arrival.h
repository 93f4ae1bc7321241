// A message as SQS brings it, as an arrival: its body as it is, its attributes as headers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <semel/spi/delivery.h>

namespace semel::sqs {

struct ReceivedMessage {
  std::unique_ptr<Arrival> arrival;
  std::string receipt;  // for this time that it was received
  std::int64_t receives = 0;
};

// `message`: one of an answer's, JSON that was found good. Attributes of its producer become
// headers, a binary one its bytes; what the service adds becomes headers sqs-…, and a producer's
// attribute of such a name attribute-sqs-…. A deduplication id that is the digest of the body was
// made by the service, and is no broker_key.
ReceivedMessage message_of(std::string_view message);

}  // namespace semel::sqs
