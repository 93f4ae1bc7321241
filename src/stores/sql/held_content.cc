#include "stores/sql/held_content.h"

#include "stores/sql/held_lines.h"

namespace semel::sql {

StoreTime after(StoreTime now, std::chrono::milliseconds delay) noexcept {
  if (delay <= std::chrono::milliseconds(0)) return now;
  // A message due in the far future is due nevertheless.
  return delay >= kBehind - now ? kBehind - std::chrono::milliseconds(1) : now + delay;
}

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

HeldContent HeldContent::of(ConsumerNumber consumer, const HeldMessage& message, StoreTime now) {
  HeldContent content;
  content.consumer = consumer;
  content.due = after(now, message.delay);
  if (message.key) content.key = *message.key;
  content.payload = message.payload;
  content.headers = &message.headers;
  content.content_type = message.content_type;
  content.type = message.type;
  return content;
}

}  // namespace semel::sql
