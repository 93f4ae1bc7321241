#include "clients/api/run_url.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/listen_address.h"
#include "base/printable.h"
#include "base/url_text.h"

namespace semel::api_client {

namespace {

constexpr std::string_view kPlain = "http://";
constexpr std::string_view kEncrypted = "https://";

tl::unexpected<Error> wrong_url(std::string why) {
  return failure({ErrorKind::kRejected, "R361", "the URL of the run " + std::move(why),
                  "such as http://127.0.0.1:8585 or https://semel.example.com:8585"});
}

bool begins_alike(std::string_view text, std::string_view scheme) {
  return text.size() >= scheme.size() && ascii::alike(text.substr(0, scheme.size()), scheme);
}

bool is_printable_byte(char c) noexcept { return c > ' ' && c < '\x7f'; }

}  // namespace

Result<RunUrl> RunUrl::parse(std::string_view text) {
  if (!std::ranges::all_of(text, is_printable_byte)) {
    return wrong_url("has a blank or a byte that is no ASCII");
  }
  RunUrl made;
  made.encrypted = begins_alike(text, kEncrypted);
  if (!made.encrypted && !begins_alike(text, kPlain)) {
    return wrong_url(
        fmt::format("begins with neither http:// nor https://: \"{}\"", printable_text(text)));
  }
  const std::string_view scheme = made.encrypted ? kEncrypted : kPlain;
  std::string_view rest = text.substr(scheme.size());
  // The text there is not repeated: it may be a secret.
  if (rest.find('@') != std::string_view::npos) {
    return wrong_url("has a user before its host: a token belongs into a file (--token-file)");
  }
  if (rest.find_first_of("?#") != std::string_view::npos) return wrong_url("has a query");
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const std::string_view server = rest.substr(0, rest.find('/'));
  const auto [host, port] = url_text::server(server);
  if (host.empty()) return wrong_url("names no host");
  if (!port.empty() && !url_text::number(port, 1, 65'535)) {
    return wrong_url(fmt::format("has no port such as 8585: \"{}\"", port));
  }
  made.loopback = ListenAddress{std::string(host), 0}.is_loopback();
  made.base = std::string(scheme) + std::string(rest);
  return made;
}

std::string path_part(std::string_view text) {
  const bool dots = text.find_first_not_of('.') == std::string_view::npos;
  std::string made;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '~' || (c == '.' && !dots);
    if (plain) {
      made += c;
    } else {
      made += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return made;
}

}  // namespace semel::api_client
