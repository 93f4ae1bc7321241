#include "stores/mysql/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "stores/sql/failure.h"

namespace semel::mysql {
namespace {

constexpr unsigned kUsualPort = 3306;
constexpr const char* kForm = "mysql://user:password@host:port/database";

[[noreturn]] void refuse(const std::string& what) {
  sql::fail({ErrorKind::kRejected, "R259", "the URL of the MySQL server " + what,
             fmt::format("write it as {}", kForm)});
}

std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      plain += text[at];
      continue;
    }
    unsigned value = 0;
    const std::string_view digits = text.substr(std::min(at + 1, text.size()), 2);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 2 || read.ptr != digits.data() + 2) refuse("has a % that says nothing");
    plain += static_cast<char>(value);
    at += 2;
  }
  return plain;
}

// What stands before the mark, which is taken away with it; all where there is none.
std::string_view cut_before(std::string_view& text, char mark) {
  const auto at = std::min(text.find(mark), text.size());
  const std::string_view first = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return first;
}

unsigned number(std::string_view text, unsigned most, const char* what) {
  unsigned value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ptr != text.data() + text.size() || read.ec != std::errc() || value > most ||
      value == 0) {
    refuse(fmt::format("has a {} that is none: {}", what, text));
  }
  return value;
}

void read_server(std::string_view server, Target& target) {
  if (server.starts_with('[')) {
    server.remove_prefix(1);
    target.host = cut_before(server, ']');
    if (!server.empty() && server.front() == ':') server.remove_prefix(1);
  } else {
    target.host = decoded(cut_before(server, ':'));
  }
  constexpr unsigned kMostPort = 65'535;
  target.port = server.empty() ? kUsualPort : number(server, kMostPort, "port");
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
    target.tls = Target::Tls::kVerify;
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
    target.user = decoded(cut_before(account, ':'));
    target.password = decoded(account);
  }
  read_server(cut_before(before, '/'), target);
  target.database = decoded(before);
  if (target.database.empty()) refuse("names no database");
  while (!rest.empty()) {
    std::string_view option = cut_before(rest, '&');
    const std::string_view name = cut_before(option, '=');
    read_option(name, decoded(option), target);
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
