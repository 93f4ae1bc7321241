#include "core/standard_keys.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/digest.h"
#include "base/utf8.h"

namespace semel::core {
namespace {

using std::string_view;

constexpr string_view kBodyKey = "body-sha256:";
// The attributes of a CloudEvent, as HTTP, Kafka and the bindings of AMQP spell them.
struct EventNames {
  string_view source;
  string_view id;
  string_view type;
};
constexpr EventNames kEventNames[] = {
    {"ce-source", "ce-id", "ce-type"},
    {"ce_source", "ce_id", "ce_type"},
    {"cloudEvents:source", "cloudEvents:id", "cloudEvents:type"},
    {"cloudEvents_source", "cloudEvents_id", "cloudEvents_type"},
};

BytesView trimmed(BytesView text) noexcept {
  constexpr string_view kBlank = " \t";
  const auto first = text.find_first_not_of(kBlank);
  if (first == BytesView::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

tl::unexpected<std::string> no_key(std::string why) {
  return tl::unexpected<std::string>(std::move(why));
}

FoundKey fit(Bytes text) {
  if (auto bad = unfit_key(text)) return no_key("it " + std::move(*bad));
  return std::optional(std::move(text));
}

// A string of RFC 8941: "…" with \" and \\ in it. Parameters after it are ignored.
FoundKey unquoted(BytesView text) {
  Bytes key;
  std::size_t at = 1;
  for (; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\' && (++at == text.size() || (text[at] != '"' && text[at] != '\\'))) {
      return no_key("a \\ in quotes stands before a quote or another one");
    }
    key += text[at];
  }
  if (at >= text.size()) return no_key("its quotes do not end");
  const BytesView rest = trimmed(text.substr(at + 1));
  if (!rest.empty() && rest.front() != ';') return no_key("something follows its quotes");
  return fit(std::move(key));
}

FoundKey event_header(const Headers& headers, string_view EventNames::*attribute) {
  std::optional<Bytes> found;
  for (const EventNames& names : kEventNames) {
    FoundKey value = only_header(headers, names.*attribute);
    if (!value || !*value) {
      if (!value) return value;
      continue;
    }
    if (found && *found != **value) {
      return no_key(fmt::format("{} stands twice", kEventNames[0].*attribute));
    }
    found = std::move(**value);
  }
  return found;
}

}  // namespace

void append_escaped(Bytes& out, BytesView text, char separator) {
  for (const char c : text) {
    if (c == '%' || c == separator) {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
}

FoundKey only_header(const Headers& headers, string_view name) {
  const Header* first = nullptr;
  for (const Header& header : headers) {
    if (!ascii::alike(header.name, name)) continue;
    if (first != nullptr && first->value != header.value) {
      return no_key(fmt::format("the header {} stands twice, with two values", name));
    }
    first = &header;
  }
  if (first == nullptr) return std::optional<Bytes>();
  return std::optional(first->value);
}

FoundKey idempotency_key(const Headers& headers) {
  FoundKey value = only_header(headers, "idempotency-key");
  if (!value || !*value) return value;
  const BytesView text = trimmed(**value);
  return text.starts_with('"') ? unquoted(text) : fit(Bytes(text));
}

FoundKey webhook_id(const Headers& headers) {
  FoundKey value = only_header(headers, "webhook-id");
  if (!value || !*value) return value;
  return fit(Bytes(trimmed(**value)));
}

FoundKey binary_event_key(const Headers& headers) {
  FoundKey source = event_header(headers, &EventNames::source);
  if (!source) return source;
  FoundKey id = event_header(headers, &EventNames::id);
  if (!id) return id;
  if (!*source && !*id) return std::optional<Bytes>();
  if (!*source) return no_key("a CloudEvent has ce-id, and no ce-source");
  if (!*id) return no_key("a CloudEvent has ce-source, and no ce-id");
  if (auto bad = unfit_key(**source)) return no_key("ce-source " + *bad);
  if (auto bad = unfit_key(**id)) return no_key("ce-id " + *bad);
  return std::optional(event_key(**source, **id));
}

std::string event_type(const Headers& headers) {
  if (headers.empty()) return {};  // most messages of files and queues
  for (const EventNames& names : kEventNames) {
    if (const auto type = find_header(headers, names.type)) return Bytes(*type);
  }
  return {};
}

Bytes event_key(BytesView source, BytesView id) {
  constexpr char kSeparator = '|';
  Bytes key;
  append_escaped(key, source, kSeparator);
  key += kSeparator;
  append_escaped(key, id, kSeparator);
  return key;
}

EventFormat event_format(const Arrival& arrival) {
  string_view type = arrival.content_type;
  if (type.empty()) type = find_header(arrival.headers, "content-type").value_or(BytesView());
  type = trimmed(type.substr(0, type.find(';')));
  if (ascii::alike(type, "application/cloudevents+json")) return EventFormat::kStructured;
  if (ascii::alike(type, "application/cloudevents-batch+json")) return EventFormat::kBatch;
  const auto first = arrival.payload.find_first_not_of(" \t\r\n");
  const bool object = first != Bytes::npos && arrival.payload[first] == '{';
  return object ? EventFormat::kPerhaps : EventFormat::kNone;
}

std::optional<std::string> unfit_key(BytesView text) {
  if (text.empty()) return "is empty";
  if (std::ranges::any_of(text, ascii::is_control)) return "holds a control character";
  if (!is_utf8(text)) return "is not UTF-8";
  return std::nullopt;
}

Bytes body_key(BytesView payload) {
  const BytesView parts[] = {payload};
  const digest::Digest hash = digest::sha256_parts("semel.body", parts);
  return Bytes(kBodyKey) + digest::hex(digest::view(hash));
}

bool is_body_key(BytesView text) noexcept {
  constexpr std::size_t kDigits = 2 * sizeof(digest::Digest);
  return text.size() == kBodyKey.size() + kDigits && text.starts_with(kBodyKey) &&
         text.find_first_not_of("0123456789abcdef", kBodyKey.size()) == BytesView::npos;
}

}  // namespace semel::core
