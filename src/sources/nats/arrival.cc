#include "sources/nats/arrival.h"

#include <nats/nats.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <string>

#include "base/ascii.h"

namespace semel::nats {
namespace {

// $JS.ACK.STREAM.CONSUMER.DELIVERED.STREAM_SEQUENCE.CONSUMER_SEQUENCE.TIME.PENDING; newer servers
// insert domain and account before the stream, and append a meaningless part.
constexpr std::size_t kPlainParts = 9;
constexpr std::size_t kPartsWithDomain = 11;
constexpr std::size_t kMostParts = 12;
constexpr std::size_t kFirstNumber = 4;
constexpr std::size_t kNumbers = 5;

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct Free {
  void operator()(const char** list) const noexcept { std::free(list); }
};
using NameList = std::unique_ptr<const char*[], Free>;

void add_headers(natsMsg& message, Arrival& arrival) {
  const char** names = nullptr;
  int count = 0;
  if (natsMsgHeader_Keys(&message, &names, &count) != NATS_OK) return;
  const NameList held_names(names);
  for (int i = 0; i < count; ++i) {
    const char** values = nullptr;
    int of_name = 0;
    if (natsMsgHeader_Values(&message, names[i], &values, &of_name) != NATS_OK) continue;
    const NameList held_values(values);
    for (int k = 0; k < of_name; ++k) {
      arrival.headers.push_back({names[i], values[k] == nullptr ? "" : values[k]});
    }
  }
}

}  // namespace

std::optional<DeliveryFacts> read_reply(std::string_view reply) {
  if (!reply.starts_with("$JS.ACK.")) return std::nullopt;
  std::array<std::string_view, kMostParts> parts;
  std::size_t count = 0;
  for (;;) {
    if (count == kMostParts) return std::nullopt;
    const auto end = reply.find('.');
    parts[count++] = reply.substr(0, end);
    if (end == std::string_view::npos) break;
    reply.remove_prefix(end + 1);
  }
  if (count != kPlainParts && count < kPartsWithDomain) return std::nullopt;
  const std::size_t first = count == kPlainParts ? kFirstNumber : kFirstNumber + 2;
  std::array<std::uint64_t, kNumbers> numbers{};
  for (std::size_t i = 0; i < kNumbers; ++i) {
    const auto number = number_in(parts[first + i]);
    if (!number) return std::nullopt;
    numbers[i] = *number;
  }
  const auto time = std::chrono::nanoseconds(static_cast<std::int64_t>(numbers[3]));
  using Clock = std::chrono::system_clock;
  return DeliveryFacts{numbers[0], numbers[1], numbers[2],
                       Clock::time_point(std::chrono::duration_cast<Clock::duration>(time)),
                       numbers[4]};
}

std::unique_ptr<Arrival> arrival_of(natsMsg& message, const DeliveryFacts& facts) {
  auto made = std::make_unique<Arrival>();
  Arrival& arrival = *made;
  const int size = natsMsg_GetDataLength(&message);
  if (size > 0) arrival.payload.assign(natsMsg_GetData(&message), static_cast<std::size_t>(size));
  add_headers(message, arrival);
  arrival.headers.push_back({"nats-subject", natsMsg_GetSubject(&message)});
  if (const auto type = find_header(arrival.headers, "Content-Type")) arrival.content_type = *type;
  const auto id = find_header(arrival.headers, "Nats-Msg-Id");
  if (id && !id->empty()) arrival.broker_key = Bytes(*id);
  arrival.broker_time = facts.stored;
  return made;
}

}  // namespace semel::nats
