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
constexpr std::string_view kSocket = "unix:";

tl::unexpected<Error> wrong_url(std::string why) {
  return failure({ErrorKind::kRejected, "R361", "the URL of the run " + std::move(why),
                  "such as http://127.0.0.1:8585, https://semel.example.com:8585 or "
                  "unix:/run/semel/admin.sock"});
}

// unix:/run/x, or unix:///run/x, as URLs with an empty host are written.
Result<RunUrl> socket_url(std::string_view path) {
  if (path.starts_with("///")) path.remove_prefix(2);
  if (!path.starts_with('/') || path.starts_with("//") || path.ends_with('/')) {
    return wrong_url(fmt::format("has no absolute path of a socket: \"unix:{}\"", path));
  }
  if (path.size() > kLongestSocketPath) {
    return wrong_url(fmt::format("has a path of {} bytes: that of a socket has {} at most",
                                 path.size(), kLongestSocketPath));
  }
  RunUrl made;
  made.base = "http://localhost";
  made.socket = path;
  made.loopback = true;
  return made;
}

bool is_printable_byte(char c) noexcept { return c > ' ' && c < '\x7f'; }

}  // namespace

Result<RunUrl> RunUrl::parse(std::string_view text) {
  if (!std::ranges::all_of(text, is_printable_byte)) {
    return wrong_url("has a blank or a byte that is no ASCII");
  }
  if (ascii::begins_alike(text, kSocket)) return socket_url(text.substr(kSocket.size()));
  RunUrl made;
  made.encrypted = ascii::begins_alike(text, kEncrypted);
  if (!made.encrypted && !ascii::begins_alike(text, kPlain)) {
    return wrong_url(fmt::format("begins with none of http://, https:// and unix: \"{}\"",
                                 printable_text(text)));
  }
  const std::string_view scheme = made.encrypted ? kEncrypted : kPlain;
  std::string_view rest = text.substr(scheme.size());
  // The message does not repeat this text, which may be a secret.
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
