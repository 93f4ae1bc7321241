#include "core/dead_letter_copy.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/ascii.h"

namespace semel::core {
namespace {

constexpr std::size_t kLongestError = 2 << 10;

constexpr std::array kOurs{kDeadLetterConsumer, kDeadLetterReason, kDeadLetterError,
                           kDeadLetterAttempts, kDeadLetterSource, kDeadLetterPosition};

bool is_ours(const Header& header) {
  return std::ranges::any_of(
      kOurs, [&](std::string_view name) { return ascii::alike(header.name, name); });
}

void add_header(Headers& headers, std::string_view name, std::string value) {
  if (!value.empty()) headers.push_back({std::string(name), std::move(value)});
}

}  // namespace

Outgoing dead_letter_copy(const Route& to, std::string_view consumer, const Finish& finish) {
  const Message& message = *finish.keep;
  const std::string source = finish.arrival != nullptr ? finish.arrival->partition : std::string();
  const std::string position = finish.arrival != nullptr ? finish.arrival->position : std::string();
  Outgoing copy;
  copy.to = to.to;
  OutgoingMessage& made = copy.message;
  made.payload = message.payload();
  made.content_type = message.content_type();
  made.type = message.type();
  Bytes key = message.key().text.empty() ? source + '/' + position : message.key().text;
  // The numbers of publications begin at 1.
  if (to.twofold) key += "/0";
  made.key = key_at(to, consumer, key);
  std::ranges::copy_if(message.headers(), std::back_inserter(made.headers),
                       [](const Header& header) { return !is_ours(header); });
  add_header(made.headers, kDeadLetterConsumer, std::string(consumer));
  add_header(made.headers, kDeadLetterReason, finish.reason);
  add_header(made.headers, kDeadLetterError, finish.error.substr(0, kLongestError));
  if (finish.attempts > 0) {
    add_header(made.headers, kDeadLetterAttempts, std::to_string(finish.attempts));
  }
  add_header(made.headers, kDeadLetterSource, source);
  add_header(made.headers, kDeadLetterPosition, position);
  return copy;
}

}  // namespace semel::core
