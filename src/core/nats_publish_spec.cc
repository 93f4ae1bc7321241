#include "core/nats_publish_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/digest.h"
#include "base/url_text.h"
#include "base/utf8.h"
#include "core/trace_context.h"

namespace semel::core {
namespace {

constexpr std::string_view kNatsDigest = "sha256:";
constexpr std::string_view kNatsKeyHeader = "Idempotency-Key";
constexpr std::string_view kNatsContentType = "Content-Type";
// As long as a server's own names may be; longer ones would fill its memory of ids.
constexpr std::size_t kLongestNatsKey = 255;
// A server disconnects at a longer line, which also contains a reply's subject and two sizes.
constexpr std::size_t kLongestNatsSubject = 2'048;

// Readers drop the blanks around a value.
bool arrives_as_it_is(std::string_view key) {
  return !key.empty() && key.size() <= kLongestNatsKey && is_utf8(key) &&
         std::ranges::none_of(key, ascii::is_control) && key.front() != ' ' && key.back() != ' ';
}

// Each header Nats-… asks a server to do something, or tells of the stream it came from.
bool is_the_servers(std::string_view name) { return ascii::begins_alike(name, "nats-"); }

bool is_nats_header_name(std::string_view name) {
  const auto fits = [](char c) { return c > ' ' && c < 0x7F && c != ':'; };
  return !name.empty() && std::ranges::all_of(name, fits);
}

}  // namespace

std::string nats_key_of(const Message& message) {
  const Bytes& key = message.key().text;
  if (arrives_as_it_is(key) && !key.starts_with(kNatsDigest)) return key;
  return std::string(kNatsDigest) + digest::hex(digest::view(digest::sha256(key)));
}

// No subject contains a blank, and all digests have one length.
std::string nats_message_id_of(const Message& message, std::string_view subject) {
  return fmt::format("{} {} {}", subject, nats_key_of(message),
                     digest::hex(digest::view(digest::sha256(message.payload()))));
}

Headers nats_headers_of(const Message& message) {
  Headers made = outgoing_headers(message);
  std::erase_if(made, [](const Header& header) {
    return is_the_servers(header.name) || ascii::alike(header.name, kNatsKeyHeader);
  });
  made.push_back({std::string(kNatsKeyHeader), nats_key_of(message)});
  if (!message.content_type().empty() && !find_header(made, kNatsContentType)) {
    made.push_back({std::string(kNatsContentType), message.content_type()});
  }
  return made;
}

std::optional<std::string> nats_headers_flaw(const Headers& headers) {
  for (const Header& header : headers) {
    if (!is_nats_header_name(header.name)) {
      return fmt::format("has a header \"{}\", which is no name of a header in NATS", header.name);
    }
    if (header.value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
      return fmt::format("has a header \"{}\" of several lines, or with a null byte", header.name);
    }
  }
  return std::nullopt;
}

bool nats_subject_takes(std::string_view pattern, std::string_view subject) {
  for (;;) {
    const bool pattern_ends = pattern.find('.') == std::string_view::npos;
    const bool subject_ends = subject.find('.') == std::string_view::npos;
    const std::string_view wanted = url_text::cut_before(pattern, '.');
    const std::string_view part = url_text::cut_before(subject, '.');
    if (wanted == ">") return true;
    if (wanted != "*" && wanted != part) return false;
    if (pattern_ends || subject_ends) return pattern_ends && subject_ends;
  }
}

std::optional<std::string> nats_publish_subject_flaw(std::string_view subject) {
  if (auto flaw = nats_subject_flaw(subject)) return flaw;
  if (subject.size() > kLongestNatsSubject) {
    return fmt::format("is longer than {} bytes", kLongestNatsSubject);
  }
  if (subject.find_first_of("*>") != std::string_view::npos) {
    return "has a * or a >: a message is published to one subject";
  }
  if (subject.starts_with("$")) return "begins with a $: such subjects are the server's own";
  return std::nullopt;
}

}  // namespace semel::core
