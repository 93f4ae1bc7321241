#include "sources/sqs/arrival.h"

#include <array>
#include <chrono>
#include <tuple>
#include <utility>

#include "base/ascii.h"
#include "base/digest.h"
#include "base/json_scan.h"
#include "base/text_encoding.h"
#include "clients/sqs/json_walk.h"
#include "core/sqs_publish_spec.h"

namespace semel::sqs {
namespace {

// The service's own attributes, and the headers they become.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOfTheService = {{
    {"MessageGroupId", "sqs-message-group-id"},
    {"MessageDeduplicationId", "sqs-message-deduplication-id"},
    {"SequenceNumber", "sqs-sequence-number"},
    {"ApproximateReceiveCount", "sqs-receive-count"},
    {"SentTimestamp", "sqs-sent-timestamp"},
    {"DeadLetterQueueSourceArn", "sqs-dead-letter-source"},
}};

void take_service_attributes(std::string_view attributes, ReceivedMessage& made) {
  Arrival& arrival = *made.arrival;
  each_member(attributes, [&](const std::string& name, std::string_view value) {
    for (const auto& [attribute, header] : kOfTheService) {
      if (attribute == name) arrival.headers.push_back({std::string(header), text_of(value)});
    }
    if (name == "MessageDeduplicationId") arrival.broker_key = text_of(value);
    if (name == "ApproximateReceiveCount") made.receives = number_of(value).value_or(0);
    if (name != "SentTimestamp") return;
    if (const auto sent = number_of(value)) {
      arrival.broker_time = std::chrono::system_clock::time_point(std::chrono::milliseconds(*sent));
    }
  });
}

// Names with this prefix are the service's, so a producer's own attribute gets another name.
std::string header_of(const std::string& attribute) {
  return ascii::begins_alike(attribute, "sqs-") ? "attribute-" + attribute : attribute;
}

// Adds the headers that have no attribute of their own, from a JSON list as the SQS handler writes
// it. False if the text is no such list.
bool take_more_headers(const Bytes& list, Arrival& arrival) {
  if (!json::validate(list) || list.front() != '[') return false;
  const auto read = [](std::string_view header, const std::string& part) {
    const std::string_view base64 = member_of(header, part + "_base64");
    if (base64.empty()) return text_of(member_of(header, part));
    return text::from_base64(text_of(base64)).value_or(Bytes());
  };
  each_item(list, [&](std::string_view header) {
    arrival.headers.push_back({header_of(read(header, "name")), read(header, "value")});
  });
  return true;
}

void take_producer_attributes(std::string_view attributes, Arrival& arrival) {
  each_member(attributes, [&](const std::string& name, std::string_view value) {
    const std::string_view binary = member_of(value, "BinaryValue");
    const std::string written = text_of(binary.empty() ? member_of(value, "StringValue") : binary);
    Bytes bytes = binary.empty() ? written : text::from_base64(written).value_or(written);
    if (name == core::kSqsMoreHeaders && take_more_headers(bytes, arrival)) return;
    if (name == "content-type" || name == "Content-Type") arrival.content_type = bytes;
    arrival.headers.push_back({header_of(name), std::move(bytes)});
  });
}

// A queue with ContentBasedDeduplication gives a message without an id the digest of its body. Two
// events with equal bodies have the same digest, so it is not a key set by a producer.
bool is_of_body(std::string_view deduplication, BytesView body) {
  constexpr std::size_t kHexLength = 2 * std::tuple_size_v<digest::Digest>;
  return deduplication.size() == kHexLength &&
         deduplication == digest::hex(digest::view(digest::sha256(body)));
}

}  // namespace

ReceivedMessage message_of(std::string_view message) {
  ReceivedMessage made;
  made.arrival = std::make_unique<Arrival>();
  Arrival& arrival = *made.arrival;
  each_member(message, [&](const std::string& name, std::string_view value) {
    if (name == "Body") {
      arrival.payload = text_of(value);
    } else if (name == "MessageId") {
      arrival.position = text_of(value);
      arrival.headers.push_back({"sqs-message-id", arrival.position});
    } else if (name == "ReceiptHandle") {
      made.receipt = text_of(value);
    } else if (name == "Attributes") {
      take_service_attributes(value, made);
    } else if (name == "MessageAttributes") {
      take_producer_attributes(value, arrival);
    }
  });
  if (arrival.broker_key && is_of_body(*arrival.broker_key, arrival.payload)) {
    arrival.broker_key.reset();
  }
  return made;
}

}  // namespace semel::sqs
