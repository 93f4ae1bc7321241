#include "stores/mysql/url.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/url_text.h"
#include "stores/sql/failure.h"

namespace semel::mysql {
namespace {

using url_text::cut_before;

constexpr unsigned kUsualPort = 3306;
constexpr const char* kForm = "mysql://user:password@host:port/database";

[[noreturn]] void refuse(const std::string& what) {
  sql::fail({ErrorKind::kRejected, "R259", "the URL of the MySQL server " + what,
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

unsigned number(std::string_view text, unsigned most, const char* what) {
  const auto value = url_text::number(text, 1, most);
  if (!value) refuse(fmt::format("has a {} that is none: {}", what, text));
  return *value;
}

void read_server(std::string_view text, Target& target) {
  const url_text::Server server = url_text::server(text);
  target.host = unescaped(server.host);
  constexpr unsigned kMostPort = 65'535;
  target.port = server.port.empty() ? kUsualPort : number(server.port, kMostPort, "port");
}

void read_option(std::string_view name, const std::string& value, Target& target) {
  if (name == "socket") {
    target.socket = value;
  } else if (name == "tls") {
    if (value != "off" && value != "on" && value != "verify") {
      refuse("has a tls that is none of off, on, verify: " + value);
    }
    if (value == "on") target.tls = Target::Tls::kOn;
    if (value == "verify") target.tls = Target::Tls::kVerify;
  } else if (name == "tls-ca") {
    target.tls_ca = value;
  } else if (name == "tls-cert") {
    target.tls_cert = value;
  } else if (name == "tls-key") {
    target.tls_key = value;
  } else if (name == "connect-timeout") {
    constexpr unsigned kDay = 86'400;
    target.connect_timeout = number(value, kDay, "connect-timeout");
  } else {
    refuse(fmt::format("has an option that is not known: {}", name));
  }
}

}  // namespace

Target target_of(std::string_view url) {
  std::string_view rest = url;
  const auto scheme = rest.find("://");
  const std::string_view named = rest.substr(0, scheme);
  if (scheme == std::string_view::npos || (named != "mysql" && named != "mariadb")) {
    refuse("does not begin with mysql://");
  }
  rest.remove_prefix(scheme + 3);
  Target target;
  std::string_view before = cut_before(rest, '?');
  const auto at = before.rfind('@');
  if (at != std::string_view::npos) {
    std::string_view account = before.substr(0, at);
    before.remove_prefix(at + 1);
    target.user = unescaped(cut_before(account, ':'));
    target.password = unescaped(account);
  }
  read_server(cut_before(before, '/'), target);
  target.database = unescaped(before);
  if (target.database.empty()) refuse("names no database");
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
  return target;
}

std::optional<Target> read_target(std::string_view url) {
  try {
    return target_of(url);
  } catch (const sql::Failure&) {
    return std::nullopt;
  }
}

}  // namespace semel::mysql
