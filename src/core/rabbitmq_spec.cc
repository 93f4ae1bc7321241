#include "core/rabbitmq_spec.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/ascii.h"
#include "base/url_text.h"
#include "base/utf8.h"

namespace semel::core {
namespace {

using url_text::cut_before;
using Flawed = tl::unexpected<std::string>;

constexpr unsigned kPort = 5672;
constexpr unsigned kTlsPort = 5671;
constexpr unsigned kMostPort = 65'535;
constexpr const char* kBadEscape = "has a % that says nothing";

std::optional<std::string> read_nodes(std::string_view text, RabbitmqAddress& into) {
  do {
    const url_text::Server server = url_text::server(cut_before(text, ','));
    const auto host = url_text::unescaped(server.host);
    if (!host) return kBadEscape;
    if (host->empty()) return "names no host";
    unsigned port = into.tls ? kTlsPort : kPort;
    if (!server.port.empty()) {
      const auto read = url_text::number(server.port, 1, kMostPort);
      if (!read) return fmt::format("has a port that is none: {}", server.port);
      port = *read;
    }
    into.nodes.push_back({*host, port});
  } while (!text.empty());
  return std::nullopt;
}

// Without an account, the broker's default one, which it accepts from its own machine only.
std::optional<std::string> read_account(std::string_view text, RabbitmqAddress& into) {
  const auto user = url_text::unescaped(cut_before(text, ':'));
  const auto password = url_text::unescaped(text);
  if (!user || !password) return kBadEscape;
  if (user->empty() || password->empty()) return "has not both a user and a password";
  into.user = *user;
  into.password = *password;
  return std::nullopt;
}

std::optional<std::string> read_vhost(std::string_view text, RabbitmqAddress& into) {
  if (text.find('/') != std::string_view::npos) {
    return "has a / in its vhost: write it as %2F";
  }
  const auto vhost = url_text::unescaped(text);
  if (!vhost) return kBadEscape;
  if (vhost->find('\0') != std::string::npos) return kBadEscape;
  into.vhost = vhost->empty() ? "/" : *vhost;
  return std::nullopt;
}

}  // namespace

std::string RabbitmqAddress::place() const {
  std::vector<std::string> all;
  all.reserve(nodes.size());
  for (const RabbitmqNode& node : nodes) all.push_back(fmt::format("{}:{}", node.host, node.port));
  return fmt::format("{}", fmt::join(all, ","));
}

tl::expected<RabbitmqAddress, std::string> read_amqp_url(std::string_view url) {
  RabbitmqAddress made;
  const auto scheme_end = url.find("://");
  const auto scheme = url.substr(0, std::min(scheme_end, url.size()));
  if (scheme_end == std::string_view::npos || (scheme != "amqp" && scheme != "amqps")) {
    return Flawed("does not begin with amqp:// or amqps://");
  }
  made.tls = scheme == "amqps";
  made.user = "guest";
  made.password = "guest";
  url.remove_prefix(scheme_end + 3);
  if (url.find('?') != std::string_view::npos) {
    return Flawed("has options behind a ?: heartbeat and tls are fields beside it");
  }
  std::optional<std::string> flaw;
  // A password may contain an @ that was not encoded.
  if (const auto at = url.rfind('@'); at != std::string_view::npos) {
    flaw = read_account(url.substr(0, at), made);
    url.remove_prefix(at + 1);
  }
  if (!flaw) flaw = read_nodes(cut_before(url, '/'), made);
  if (!flaw) flaw = read_vhost(url, made);
  if (flaw) return Flawed(*std::move(flaw));
  return made;
}

std::optional<std::string> rabbitmq_queue_flaw(std::string_view name, bool declare) {
  constexpr std::size_t kLongest = 255;  // an AMQP short string
  if (name.empty()) return "is no queue's name";
  if (name.size() > kLongest) return fmt::format("is longer than {} bytes", kLongest);
  if (!is_utf8(name)) return "is not UTF-8";
  if (std::ranges::any_of(name, ascii::is_control)) return "holds a control character";
  if (declare && name.starts_with("amq.")) return "begins with amq., which is the broker's own";
  return std::nullopt;
}

}  // namespace semel::core
