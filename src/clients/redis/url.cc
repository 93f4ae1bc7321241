#include "clients/redis/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/url_text.h"
#include "core/failure.h"

namespace semel::redis {
namespace {

using url_text::cut_before;

constexpr unsigned kUsualPort = 6379;
constexpr const char* kForm =
    "redis://user:password@host:port/database, redis://host:port,host:port for a Cluster, "
    "rediss:// "
    "with TLS, or "
    "redis+unix:///path/to/socket?db=0";

[[noreturn]] void refuse(const std::string& what) {
  core::fail({ErrorKind::kRejected, "R259", "the URL of the Redis server " + what,
              fmt::format("write it as {}", kForm)});
}

void refuse_if(const std::optional<std::string>& flaw) {
  if (flaw) refuse(*flaw);
}

std::string unescaped(std::string_view text) {
  auto plain = url_text::unescaped(text);
  if (!plain) refuse("has a % that says nothing");
  return *std::move(plain);
}

unsigned number(std::string_view text, unsigned least, unsigned most, const char* what) {
  const auto value = url_text::number(text, least, most);
  if (!value) refuse(fmt::format("has a {} that is none: {}", what, text));
  return *value;
}

unsigned database_number(std::string_view text) {
  constexpr unsigned kMostDatabases = 1 << 24;
  return number(text, 0, kMostDatabases, "database number");
}

void read_account(std::string_view account, Target& target) {
  target.user = unescaped(cut_before(account, ':'));
  target.password = unescaped(account);
  if (!target.user.empty() && target.password.empty()) {
    refuse("has a user without a password; a password alone is written as :password@host");
  }
}

Endpoint read_server(std::string_view text) {
  const url_text::Server server = url_text::server(text);
  Endpoint endpoint{unescaped(server.host), kUsualPort};
  if (endpoint.host.empty()) refuse("names no host");
  constexpr unsigned kMostPort = 65'535;
  if (!server.port.empty()) endpoint.port = number(server.port, 1, kMostPort, "port");
  return endpoint;
}

void read_servers(std::string_view text, Target& target) {
  const Endpoint first = read_server(cut_before(text, ','));
  target.host = first.host;
  target.port = first.port;
  while (!text.empty()) target.others.push_back(read_server(cut_before(text, ',')));
}

void read_option(std::string_view name, const std::string& value, Target& target) {
  constexpr unsigned kDay = 86'400;
  if (name == "db") {
    target.database = database_number(value);
  } else if (name == "connect-timeout") {
    target.connect_timeout = std::chrono::seconds(number(value, 1, kDay, "connect-timeout"));
  } else if (name == "timeout") {
    target.answer_timeout = std::chrono::seconds(number(value, 1, kDay, "timeout"));
  } else if (name == "tls") {
    if (value != "on" && value != "verify")
      refuse("has a tls that is none of on, verify: " + value);
    target.tls = value == "on" ? Target::Tls::kOn : Target::Tls::kVerify;
  } else if (name == "tls-ca") {
    target.tls_ca = value;
  } else if (name == "tls-cert") {
    target.tls_cert = value;
  } else if (name == "tls-key") {
    target.tls_key = value;
  } else {
    refuse(fmt::format("has an option that is not known: {}", name));
  }
}

}  // namespace

Target target_of(std::string_view url) {
  std::string_view rest = url;
  const auto scheme_end = rest.find("://");
  const std::string_view scheme = rest.substr(0, std::min(scheme_end, rest.size()));
  const bool by_tls = scheme == "rediss";
  const bool by_socket = scheme == "redis+unix" || scheme == "unix";
  if (scheme_end == std::string_view::npos || (scheme != "redis" && !by_tls && !by_socket)) {
    refuse("does not begin with redis://, rediss:// or redis+unix://");
  }
  rest.remove_prefix(scheme_end + 3);
  Target target;
  if (by_tls) target.tls = Target::Tls::kVerify;
  std::string_view before = cut_before(rest, '?');
  const auto at = before.rfind('@');
  if (at != std::string_view::npos) {
    read_account(before.substr(0, at), target);
    before.remove_prefix(at + 1);
  }
  if (by_socket) {
    target.socket = unescaped(before);
    if (!target.socket.starts_with('/')) refuse("names no socket by its whole path");
  } else {
    read_servers(cut_before(before, '/'), target);
    if (!before.empty()) target.database = database_number(before);
  }
  url_text::TlsWord tls;
  while (!rest.empty()) {
    std::string_view option = cut_before(rest, '&');
    const std::string_view name = cut_before(option, '=');
    const std::string value = unescaped(option);
    if (name == "tls") refuse_if(tls.say(value));
    read_option(name, value, target);
  }
  if (!target.tls_ca.empty()) {
    refuse_if(tls.flaw_beside_ca());
    target.tls = Target::Tls::kVerify;
  }
  const bool files = !target.tls_cert.empty() || !target.tls_key.empty();
  if (files && target.tls == Target::Tls::kOff) refuse("has a certificate and no TLS");
  if (by_socket && target.tls != Target::Tls::kOff) refuse("asks for TLS on a unix socket");
  return target;
}

Result<Target> read_target(std::string_view url) {
  return core::contained([&] { return target_of(url); });
}

std::vector<Target> each_of(const Target& target) {
  std::vector<Target> all = {target};
  all.front().others.clear();
  for (const Endpoint& other : target.others) {
    Target& one = all.emplace_back(all.front());
    one.host = other.host;
    one.port = other.port;
  }
  return all;
}

std::string endpoint_text(const Target& target) {
  if (!target.socket.empty()) return target.socket;
  return fmt::format("{}:{}", target.host, target.port);
}

}  // namespace semel::redis
