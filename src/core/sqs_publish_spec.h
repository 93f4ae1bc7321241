// SqsPublishSpec and SnsPublishSpec: a publisher to a queue of SQS or a topic of SNS as its config
// or a program describes it, and what a message becomes there. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/bytes.h>
#include <semel/message.h>

#include <semel/result.h>

#include "core/pace.h"
#include "core/sqs_spec.h"

namespace semel::core {

// How the messages of a FIFO queue or topic are told apart, and which of them keep their order.
struct SqsFifo {
  enum class Deduplication : std::uint8_t { kKeyAndPayload, kKey };

  // The MessageGroupId of every message. Empty: the message's ordering key, without one its key.
  std::string group;
  Deduplication deduplication = Deduplication::kKeyAndPayload;
};

// The settings that both share. `queue` is the topic of SNS, too: its ARN in place of a URL.
struct SqsSendSpec : SqsAccess {
  SqsFifo fifo;
  // Where a program says it: the group of a message, or nothing for its key.
  std::function<std::optional<Bytes>(const Message&)> group_of{};
  // From the call until the service's answer: what has none by then is answered retry.
  std::chrono::milliseconds timeout = kUsualTimeout;
  bool honours_key = false;  // declared: readers do nothing again under a key they know
};

struct SqsPublishSpec : SqsSendSpec {
  // How long a standard queue hides a message that it has taken.
  std::chrono::milliseconds delay{0};
};

struct SnsPublishSpec : SqsSendSpec {};

// A topic by its ARN, arn:aws:sns:REGION:ACCOUNT:NAME, and the address of its service; an empty one
// is Amazon's in that region. Else why it is none, in words that follow "the topic" or "the
// endpoint".
struct SnsTopicFlaw {
  bool of_the_endpoint = false;
  std::string why;
};
tl::expected<SqsQueueUrl, SnsTopicFlaw> read_sns_topic(std::string_view arn,
                                                       std::string_view endpoint);

// The most that the service takes: of one message, and of all messages of one request. Attributes
// count, their names too. A queue may have a lower limit of its own.
inline constexpr std::size_t kSqsLongestMessage = std::size_t{1} << 20U;
inline constexpr std::size_t kSnsLongestMessage = std::size_t{256} << 10U;
// Requests stay below what every server of this API takes; a longer message goes alone.
inline constexpr std::size_t kSqsUsualRequest = std::size_t{256} << 10U;
inline constexpr std::size_t kSqsMostAttributes = 10;
inline constexpr std::chrono::minutes kSqsLongestDelay{15};
// The attribute of headers that are no attributes.
inline constexpr std::string_view kSqsMoreHeaders = "semel-headers";

// A message attribute. `binary`: its bytes are no text that the service takes.
struct SqsAttribute {
  std::string name;
  Bytes value;
  bool binary = false;
};
// The message's headers with its key as Idempotency-Key, each an attribute. Headers that cannot be
// one, and what is beyond the tenth, stand together in one attribute, as a JSON list. Headers that
// tell of another queue (sqs-…) are left out.
std::vector<SqsAttribute> sqs_attributes_of(const Message& message);

// A text as an id of the service: not many letters, digits and punctuation marks. Any other text
// becomes sha256: and its digest; no two texts meet.
std::string sqs_id_of(std::string_view text);
// Why it can be no group of a config, in words that follow its value.
std::optional<std::string> sqs_group_flaw(std::string_view group);
std::string sqs_group_of(const Message& message, const SqsFifo& fifo);
// A repeat has the same. With kKeyAndPayload KEY.DIGEST, or a digest alone: what the service drops
// as a repeat is there, with this key and this payload.
std::string sqs_deduplication_id_of(const Message& message, SqsFifo::Deduplication by);

// Bytes as the service counts them.
std::size_t sqs_size_of(BytesView payload, const std::vector<SqsAttribute>& attributes);
// Why the service carries no message with this payload, in words that follow "the message".
std::optional<std::string> sqs_payload_flaw(BytesView payload);

// The service takes it as a text: UTF-8 without most control characters.
bool is_sqs_text(BytesView text) noexcept;
// Both URLs lead to one queue.
bool same_sqs_queue(const SqsQueueUrl& one, const SqsQueueUrl& other);

}  // namespace semel::core
