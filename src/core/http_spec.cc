#include "core/http_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/text_encoding.h"
#include "core/url_template.h"

namespace semel::core {
namespace {

constexpr std::string_view kOwnHeaders[] = {"idempotency-key",   "webhook-id",  "webhook-timestamp",
                                            "webhook-signature", "traceparent", "tracestate"};
constexpr std::string_view kOwnPrefixes[] = {"semel-", "ce-"};
// They describe how the spans are written.
constexpr std::string_view kOfTheExport[] = {"content-type", "content-encoding"};
constexpr std::string_view kOfTheConnection[] = {
    "host",    "content-length", "transfer-encoding", "connection",       "expect",        "te",
    "trailer", "upgrade",        "keep-alive",        "proxy-connection", "http2-settings"};

bool listed(const auto& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

// Between the scheme and the path.
std::string_view authority_of(std::string_view url) noexcept {
  const auto begin = url.find("://");
  if (begin == std::string_view::npos) return {};
  const auto rest = url.substr(begin + 3);
  return rest.substr(0, rest.find_first_of("/?#"));
}

std::string_view host_of(std::string_view authority) noexcept {
  if (const auto at = authority.rfind('@'); at != std::string_view::npos)
    authority.remove_prefix(at + 1);
  return authority;
}

std::optional<std::string> host_flaw(std::string_view host) {
  std::string_view port;
  if (host.starts_with('[')) {
    const auto close = host.find(']');
    if (close == std::string_view::npos) return "has a [ without ] in its host";
    port = host.substr(close + 1);
    host = host.substr(1, close - 1);
  } else if (const auto colon = host.find(':'); colon != std::string_view::npos) {
    port = host.substr(colon);
    host = host.substr(0, colon);
  }
  if (host.empty()) return "has no host";
  if (port.empty()) return std::nullopt;
  unsigned number = 0;
  const auto [end, problem] = std::from_chars(port.data() + 1, port.data() + port.size(), number);
  constexpr unsigned kLastPort = 65'535;
  if (port[0] != ':' || problem != std::errc{} || end != port.data() + port.size() || number == 0 ||
      number > kLastPort) {
    return "has no port that there is";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> url_flaw(std::string_view written) {
  const auto made = UrlTemplate::parse(written);
  if (!made) return made.error().message;
  const std::string url = made->sample();
  const std::string scheme = ascii::lower(std::string_view(url).substr(0, url.find("://")));
  if (scheme != "http" && scheme != "https") return "does not begin with http:// or https://";
  const bool plain = std::all_of(url.begin(), url.end(), [](char c) {
    return !ascii::is_control(c) && c != ' ' && static_cast<unsigned char>(c) < 0x80;
  });
  if (!plain) return "has a blank or another character that a URL must write as %XX";
  if (url.find('#') != std::string_view::npos) return "has a # part, which is never sent";
  return host_flaw(host_of(authority_of(url)));
}

std::optional<std::string> place_for_answer(std::string_view url,
                                            const std::vector<std::string>& but_of) {
  const auto made = UrlTemplate::parse(url);
  if (!made) return std::nullopt;
  for (const UrlPlace& place : made->places()) {
    if (place.of == UrlPlace::Of::kAnswer && !listed(but_of, place.name)) return place.written;
  }
  return std::nullopt;
}

bool url_has_credentials(std::string_view url) noexcept {
  return authority_of(url).find('@') != std::string_view::npos;
}

bool is_header_name(std::string_view name) noexcept {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

bool is_of_event_or_trace(std::string_view name) noexcept {
  return ascii::begins_alike(name, "ce-") || ascii::alike(name, "traceparent") ||
         ascii::alike(name, "tracestate");
}

bool is_header_value(std::string_view value) noexcept {
  return std::none_of(value.begin(), value.end(),
                      [](char c) { return ascii::is_control(c) && c != '\t'; });
}

std::optional<std::string> header_flaw(std::string_view name) {
  if (!is_header_name(name)) return "cannot be the name of a header";
  const std::string lower = ascii::lower(name);
  const bool own = listed(kOwnHeaders, lower) ||
                   std::any_of(std::begin(kOwnPrefixes), std::end(kOwnPrefixes),
                               [&](std::string_view prefix) { return lower.starts_with(prefix); });
  if (own) return "is a header that Semel sends itself";
  if (listed(kOfTheConnection, lower)) return "is a header of the connection";
  return std::nullopt;
}

std::optional<std::string> export_header_flaw(std::string_view name) {
  if (!is_header_name(name)) return "cannot be the name of a header";
  const std::string lower = ascii::lower(name);
  if (listed(kOfTheExport, lower)) return "is a header that Semel sends itself";
  if (listed(kOfTheConnection, lower)) return "is a header of the connection";
  return std::nullopt;
}

bool sounds_secret(std::string_view name) {
  const std::string lower = ascii::lower(name);
  constexpr std::string_view kWords[] = {"authorization", "cookie", "token", "secret",   "password",
                                         "api-key",       "apikey", "auth",  "signature"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

std::optional<Bytes> signing_key(std::string_view secret) {
  constexpr std::string_view kPrefix = "whsec_";
  if (!secret.starts_with(kPrefix)) return std::nullopt;
  auto key = text::from_base64(secret.substr(kPrefix.size()));
  if (!key || key->empty()) return std::nullopt;
  return key;
}

}  // namespace semel::core
