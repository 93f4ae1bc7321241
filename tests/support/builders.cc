#include "tests/support/builders.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "core/key_encoding.h"

namespace semel::test {
namespace {

Finish finish_to(Finish::To to, const Lease& lease) {
  Finish finish;
  finish.to = to;
  finish.lease = lease;
  finish.attempts = 1;
  return finish;
}

}  // namespace

Fingerprint fingerprint_for(BytesView content) {
  Fingerprint fingerprint;
  fingerprint.bytes = digest::shortened(digest::sha256(content));
  return fingerprint;
}

Message::Parts make_parts(ConsumerNumber consumer, BytesView key, BytesView payload) {
  Message::Parts parts;
  parts.key.text = key;
  parts.key.id = core::encode_key(consumer, key);
  parts.fingerprint = fingerprint_for(payload);
  parts.payload = payload;
  return parts;
}

Message make_message(ConsumerNumber consumer, BytesView key, BytesView payload) {
  return Message(make_parts(consumer, key, payload));
}

std::vector<Message> make_messages(ConsumerNumber consumer, std::string_view prefix,
                                   std::size_t count) {
  std::vector<Message> messages;
  messages.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key = fmt::format("{}{}", prefix, i);
    messages.push_back(make_message(consumer, key, payload_with_id(key)));
  }
  return messages;
}

std::vector<const Message*> pointers(const std::vector<Message>& messages) {
  std::vector<const Message*> result;
  result.reserve(messages.size());
  for (const Message& message : messages) result.push_back(&message);
  return result;
}

std::string ulid(std::size_t number) {
  constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  constexpr std::size_t kLength = 26;
  std::string text(kLength, '0');
  for (auto at = text.rbegin(); at != text.rend() && number != 0; ++at) {
    *at = kAlphabet[number % kAlphabet.size()];
    number /= kAlphabet.size();
  }
  text[1] = '1';
  return text;
}

std::string uuid(std::size_t number) {
  const auto high = static_cast<std::uint64_t>(number);
  return fmt::format("{:08x}-{:04x}-7000-8000-0123456789ab", (high >> 16U) & 0xffffffffU,
                     high & 0xffffU);
}

Arrival make_arrival(BytesView payload, std::string_view partition, std::string_view position) {
  Arrival arrival;
  arrival.payload = payload;
  arrival.partition = partition;
  arrival.position = position;
  return arrival;
}

std::string payload_with_id(std::string_view key, std::size_t n) {
  return fmt::format(R"({{"id":"{}","n":{}}})", key, n);
}

core::TrackedDelivery make_delivery(ConsumerNumber consumer, BytesView key, BytesView payload) {
  return {make_message(consumer, key, payload), Arrival{}};
}

Finish completed(const Lease& lease, Bytes result) {
  Finish finish = finish_to(Finish::To::kCompleted, lease);
  finish.result = std::move(result);
  return finish;
}

Finish retrying(const Lease& lease, std::chrono::milliseconds delay, const Message* keep,
                std::string reason) {
  Finish finish = finish_to(Finish::To::kRetrying, lease);
  finish.delay = delay;
  finish.keep = keep;
  finish.reason = std::move(reason);
  return finish;
}

Finish parked(const Lease& lease, const Message* keep, std::string reason) {
  Finish finish = finish_to(Finish::To::kParked, lease);
  finish.keep = keep;
  finish.reason = std::move(reason);
  return finish;
}

Finish dead(const Lease& lease, const Message* keep, std::string reason) {
  Finish finish = finish_to(Finish::To::kDead, lease);
  finish.keep = keep;
  finish.reason = std::move(reason);
  return finish;
}

Finish not_started(const Lease& lease) { return finish_to(Finish::To::kNotStarted, lease); }

Finish ack_only(RowTag row) {
  Finish finish;
  finish.to = Finish::To::kAckOnly;
  finish.ack = row;
  return finish;
}

}  // namespace semel::test
