// A message as an entry of a request; the request to SQS, and the reading of its answer. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <semel/message.h>

#include "core/sqs_publish_spec.h"

namespace semel::sqs {

// A message as one entry of a batch. Its payload is the message's own.
struct Entry {
  std::vector<core::SqsAttribute> attributes;
  std::string group;          // empty: the queue is no FIFO queue
  std::string deduplication;  // likewise
  std::size_t size = 0;       // in bytes, as the service counts them
};
// Throws what spec.group_of does.
Entry entry_of(const Message& message, const core::SqsSendSpec& spec);

struct OutgoingEntry {
  const Entry* entry;
  BytesView payload;
};
// SendMessageBatch; each entry is named by its place.
std::string batch_request(const std::string& queue_url, std::chrono::milliseconds delay,
                          std::span<const OutgoingEntry> batch);

struct TakenEntry {
  std::size_t place = 0;
  std::string message_id;
};
struct RefusedEntry {
  std::size_t place = 0;
  std::string code;
  std::string said;
  bool of_the_sender = false;
};
struct BatchAnswer {
  std::vector<TakenEntry> taken;
  std::vector<RefusedEntry> refused;
};
// The place that an entry is named by; nullopt for any other id.
std::optional<std::size_t> place_of(std::string_view id);
// `answer` is JSON that was found good.
BatchAnswer read_batch(std::string_view answer);

}  // namespace semel::sqs
