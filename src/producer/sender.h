// Sender: sends, waits and retries under the same key, until each message is confirmed, refused or
// out of time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/producer.h>
#include <semel/spi/held_messages.h>

#include "producer/address.h"
#include "producer/try_end.h"

namespace semel::producer {

using Deadline = std::chrono::steady_clock::time_point;

// One attempt at each message, in order; returns how each ended, soon after the deadline at the
// latest. Called from several threads at a time.
using Try = std::function<std::vector<TryEnd>(std::span<const OutgoingMessage* const>, int number,
                                              Deadline)>;

// By a handler that publishes, `most` calls at a time. A call without an answer soon after it was
// asked to stop is abandoned, its outcome unknown.
Try try_by(AsyncHandler handler, std::size_t most);
// By rows of the consumer's queue. `queue` is borrowed.
Try try_by(HeldMessages& queue, ConsumerNumber consumer);

// Thread-safe.
class Sender {
 public:
  Sender(Try attempt, KeyRules rules, ProducerOptions options, Environment& environment);

  std::vector<SendResult> send(std::span<const OutgoingMessage> messages) const;

 private:
  struct Item;
  std::vector<Item> address_all(std::span<const OutgoingMessage> messages,
                                std::vector<SendResult>& results) const;
  std::chrono::milliseconds take_ends(std::vector<Item*>& open, std::vector<TryEnd> ends,
                                      int number, std::vector<SendResult>& results) const;

  Try try_;
  KeyRules rules_;
  ProducerOptions options_;
  Environment& environment_;
};

}  // namespace semel::producer
