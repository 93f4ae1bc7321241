#include "stores/sql/held_content.h"

#include <semel/spi/record_machine.h>

#include "stores/sql/held_lines.h"

namespace semel::sql {

// A row with the latest due time is still due before rows that wait for others.
static_assert(spi::kLatestDue < kBehind);

HeldContent HeldContent::of(const Message& message, const Arrival* arrival) {
  HeldContent content;
  content.consumer = message.key().id.consumer();
  if (!message.key().text.empty()) {
    content.key = message.key().text;
    content.fingerprint = message.fingerprint();
  }
  content.payload = message.payload();
  content.headers = &message.headers();
  content.content_type = message.content_type();
  content.type = message.type();
  if (arrival != nullptr) {
    content.partition = arrival->partition;
    content.position = arrival->position;
    if (arrival->broker_key) content.broker_key = *arrival->broker_key;
    content.broker_time = arrival->broker_time;
    if (arrival->line) content.line = *arrival->line;
  }
  return content;
}

HeldContent HeldContent::of(const Arrival& arrival, ConsumerNumber consumer) {
  HeldContent content;
  content.consumer = consumer;
  if (arrival.key) content.key = *arrival.key;
  content.fingerprint = arrival.fingerprint;
  content.payload = arrival.payload;
  content.headers = &arrival.headers;
  content.content_type = arrival.content_type;
  content.type = arrival.type;
  content.partition = arrival.partition;
  content.position = arrival.position;
  return content;
}

HeldContent HeldContent::of(ConsumerNumber consumer, const OutgoingMessage& message,
                            StoreTime now) {
  HeldContent content;
  content.consumer = consumer;
  content.due = spi::due_when_sent(now, message.delay);
  if (message.key) content.key = *message.key;
  content.payload = message.payload;
  content.headers = &message.headers;
  content.content_type = message.content_type;
  content.type = message.type;
  return content;
}

}  // namespace semel::sql
