#include "core/nats_spec.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/ascii.h"
#include "base/url_text.h"
#include "base/utf8.h"

namespace semel::core {
namespace {

using url_text::cut_before;
using NoNatsUrl = tl::unexpected<std::string>;

constexpr unsigned kNatsPort = 4222;
constexpr unsigned kLastPort = 65'535;
constexpr const char* kBadNatsEscape = "has a % that says nothing";
constexpr std::size_t kLongestNatsName = 255;  // the name of a file of the server

std::optional<std::string> read_servers(std::string_view text, NatsAddress& into) {
  do {
    const url_text::Server server = url_text::server(cut_before(text, ','));
    const auto host = url_text::unescaped(server.host);
    if (!host) return kBadNatsEscape;
    if (host->empty()) return "names no host";
    unsigned port = kNatsPort;
    if (!server.port.empty()) {
      const auto read = url_text::number(server.port, 1, kLastPort);
      if (!read) return fmt::format("has a port that is none: {}", server.port);
      port = *read;
    }
    into.nodes.push_back({*host, port});
  } while (!text.empty());
  return std::nullopt;
}

std::optional<std::string> read_login(std::string_view text, NatsAddress& into) {
  const auto user = url_text::unescaped(cut_before(text, ':'));
  const auto password = url_text::unescaped(text);
  if (!user || !password) return kBadNatsEscape;
  if (user->empty() || password->empty()) {
    return "has not both a user and a password: a token is a field beside it";
  }
  into.user = *user;
  into.password = *password;
  return std::nullopt;
}

bool is_odd_in_subject(char c) { return ascii::is_control(c) || c == ' '; }

}  // namespace

std::string NatsAddress::place() const {
  std::vector<std::string> all;
  all.reserve(nodes.size());
  for (const NatsNode& node : nodes) all.push_back(fmt::format("{}:{}", node.host, node.port));
  return fmt::format("{}", fmt::join(all, ","));
}

tl::expected<NatsAddress, std::string> read_nats_url(std::string_view url) {
  NatsAddress made;
  const auto scheme_end = url.find("://");
  const auto scheme = url.substr(0, std::min(scheme_end, url.size()));
  if (scheme_end == std::string_view::npos || (scheme != "nats" && scheme != "tls")) {
    return NoNatsUrl("does not begin with nats:// or tls://");
  }
  made.tls = scheme == "tls";
  url.remove_prefix(scheme_end + 3);
  if (url.find('?') != std::string_view::npos) {
    return NoNatsUrl("has options behind a ?: credentials and tls are fields beside it");
  }
  std::optional<std::string> flaw;
  // A password may contain an @ that was not encoded.
  if (const auto at = url.rfind('@'); at != std::string_view::npos) {
    flaw = read_login(url.substr(0, at), made);
    url.remove_prefix(at + 1);
  }
  if (!flaw) flaw = read_servers(cut_before(url, '/'), made);
  if (!flaw && !url.empty())
    flaw = "has something behind its hosts: the stream is a field beside it";
  if (flaw) return NoNatsUrl(*std::move(flaw));
  return made;
}

std::optional<std::string> nats_name_flaw(std::string_view name) {
  if (name.empty()) return "is no name";
  if (name.size() > kLongestNatsName) {
    return fmt::format("is longer than {} bytes", kLongestNatsName);
  }
  if (!is_utf8(name)) return "is not UTF-8";
  if (std::ranges::any_of(name, is_odd_in_subject)) return "holds a space or a control character";
  const auto at = name.find_first_of(".*>/\\");
  if (at != std::string_view::npos) return fmt::format("holds a {}", name[at]);
  return std::nullopt;
}

std::optional<std::string> nats_subject_flaw(std::string_view subject) {
  if (!is_utf8(subject)) return "is not UTF-8";
  if (std::ranges::any_of(subject, is_odd_in_subject)) {
    return "holds a space or a control character";
  }
  for (;;) {
    const bool last = subject.find('.') == std::string_view::npos;
    const std::string_view part = cut_before(subject, '.');
    if (part.empty()) return "has an empty part";
    if (part == ">" && !last) return "has a > that is not its last part";
    if (part.size() > 1 && part.find_first_of("*>") != std::string_view::npos) {
      return "has a * or a > that is no part of its own";
    }
    if (last) return std::nullopt;
  }
}

}  // namespace semel::core
