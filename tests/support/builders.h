// Messages, arrivals and finishes in one line.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <semel/message.h>
#include <semel/spi/delivery.h>
#include <semel/spi/finish.h>
#include <semel/spi/store.h>

#include "core/tracked_delivery.h"

namespace semel::test {

// A fingerprint that differs where the content differs.
Fingerprint fingerprint_for(BytesView content);

// A message under `key`; its fingerprint is that of its payload, its ordering key its key.
Message make_message(ConsumerNumber consumer, BytesView key, BytesView payload = "{}");
Message::Parts make_parts(ConsumerNumber consumer, BytesView key, BytesView payload = "{}");

// `count` messages with keys `prefix`0, `prefix`1, … and a payload that names the key.
std::vector<Message> make_messages(ConsumerNumber consumer, std::string_view prefix,
                                   std::size_t count);
// The argument that claim takes: the addresses, in order.
std::vector<const Message*> pointers(const std::vector<Message>& messages);

// A ULID in canonical form that grows with `number`: such keys keep their order as ids.
std::string ulid(std::size_t number);
// A canonical lower-case UUID that grows with `number`.
std::string uuid(std::size_t number);

Arrival make_arrival(BytesView payload, std::string_view partition = "p0",
                     std::string_view position = "");
// The payload `{"id":"KEY","n":N}`.
std::string payload_with_id(std::string_view key, std::size_t n = 0);
core::TrackedDelivery make_delivery(ConsumerNumber consumer, BytesView key,
                                    BytesView payload = "{}");

Finish completed(const Lease& lease, Bytes result = {});
Finish retrying(const Lease& lease, std::chrono::milliseconds delay, const Message* keep,
                std::string reason = "handler.native");
Finish parked(const Lease& lease, const Message* keep, std::string reason = "operator");
Finish dead(const Lease& lease, const Message* keep, std::string reason = "handler.native");
Finish not_started(const Lease& lease);
Finish ack_only(RowTag row);

}  // namespace semel::test
