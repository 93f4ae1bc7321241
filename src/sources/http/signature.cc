#include "sources/http/signature.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/same_bytes.h"
#include "base/text_encoding.h"
#include "core/http_spec.h"

namespace semel::sources {

namespace {

using Scheme = core::HttpSignature::Scheme;

std::vector<std::string> headers_of(Scheme scheme) {
  switch (scheme) {
    case Scheme::kStandardWebhooks:
      return {"webhook-id", "webhook-timestamp", "webhook-signature"};
    case Scheme::kStripe:
      return {"stripe-signature"};
    case Scheme::kGithub:
      break;
  }
  return {"x-hub-signature-256"};
}

std::vector<BytesView> parts_of(BytesView text, char separator) {
  std::vector<BytesView> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<Bytes> from_hex(BytesView text) {
  if (text.size() % 2 != 0) return std::nullopt;
  Bytes made;
  made.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit_of(text[i]), low = digit_of(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    made += static_cast<char>(high * 16 + low);
  }
  return made;
}

std::string no_header(std::string_view name) { return fmt::format("it has no header {}", name); }

constexpr const char* kWrong = "none of the secrets makes its signature";

}  // namespace

SignatureCheck::SignatureCheck(const core::HttpSignature& signature)
    : scheme_(signature.scheme),
      tolerance_(signature.tolerance),
      headers_(headers_of(signature.scheme)) {
  for (const std::string& secret : signature.secrets) {
    keys_.push_back(scheme_ == Scheme::kStandardWebhooks ? core::signing_key(secret).value()
                                                         : secret);
  }
}

std::optional<std::string> SignatureCheck::flaw(const Headers& headers, BytesView body,
                                                std::int64_t now) const {
  switch (scheme_) {
    case Scheme::kStandardWebhooks:
      return standard_webhooks(headers, body, now);
    case Scheme::kStripe:
      return stripe(headers, body, now);
    case Scheme::kGithub:
      break;
  }
  return github(headers, body);
}

std::optional<std::string> SignatureCheck::standard_webhooks(const Headers& headers, BytesView body,
                                                             std::int64_t now) const {
  const auto id = find_header(headers, "webhook-id");
  const auto time = find_header(headers, "webhook-timestamp");
  const auto signatures = find_header(headers, "webhook-signature");
  if (!id) return no_header("webhook-id");
  if (!time) return no_header("webhook-timestamp");
  if (!signatures) return no_header("webhook-signature");
  constexpr BytesView kVersion = "v1,";
  std::vector<Bytes> given;
  for (const BytesView part : parts_of(*signatures, ' ')) {
    // The header may also contain signatures of other kinds and of future versions.
    if (!part.starts_with(kVersion)) continue;
    if (auto bytes = text::from_base64(part.substr(kVersion.size()))) {
      given.push_back(*std::move(bytes));
    }
  }
  Bytes content;
  content.reserve(id->size() + time->size() + body.size() + 2);
  content.append(*id).append(1, '.').append(*time).append(1, '.').append(body);
  if (!signed_by_any(content, given)) return kWrong;
  return stale(*time, now);
}

std::optional<std::string> SignatureCheck::stripe(const Headers& headers, BytesView body,
                                                  std::int64_t now) const {
  const auto header = find_header(headers, "stripe-signature");
  if (!header) return no_header("Stripe-Signature");
  std::optional<BytesView> time;
  std::vector<Bytes> given;
  for (const BytesView part : parts_of(*header, ',')) {
    if (part.starts_with("t=")) {
      if (time) return "its signature has two times";
      time = part.substr(2);
    } else if (part.starts_with("v1=")) {
      if (auto bytes = from_hex(part.substr(3))) given.push_back(*std::move(bytes));
    }
  }
  if (!time) return "its signature has no time";
  Bytes content(*time);
  content.append(1, '.').append(body);
  if (!signed_by_any(content, given)) return kWrong;
  return stale(*time, now);
}

std::optional<std::string> SignatureCheck::github(const Headers& headers, BytesView body) const {
  const auto header = find_header(headers, "x-hub-signature-256");
  if (!header) return no_header("X-Hub-Signature-256");
  constexpr BytesView kMethod = "sha256=";
  std::vector<Bytes> given;
  if (header->starts_with(kMethod)) {
    if (auto bytes = from_hex(header->substr(kMethod.size()))) given.push_back(*std::move(bytes));
  }
  if (!signed_by_any(body, given)) return kWrong;
  return std::nullopt;
}

// Called only after the signature has proved the sender.
std::optional<std::string> SignatureCheck::stale(BytesView time, std::int64_t now) const {
  std::int64_t at = 0;
  const char* const end = time.data() + time.size();
  const auto [stop, error] = std::from_chars(time.data(), end, at);
  if (error != std::errc{} || stop != end || at < 0) return "its time is no number of seconds";
  const std::int64_t apart = at > now ? at - now : now - at;
  if (apart <= tolerance_.count()) return std::nullopt;
  return fmt::format("it was signed {} seconds {} this machine's time, and {} are allowed", apart,
                     at > now ? "after" : "before", tolerance_.count());
}

// Compares all pairs, so that the time taken reveals nothing.
bool SignatureCheck::signed_by_any(BytesView content, const std::vector<Bytes>& given) const {
  bool found = false;
  for (const Bytes& key : keys_) {
    const digest::Digest made = digest::hmac_sha256(key, content);
    for (const Bytes& one : given) found = same_bytes(one, digest::view(made)) || found;
  }
  return found;
}

}  // namespace semel::sources
