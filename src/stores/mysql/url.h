// Where a server is, and as whom it is asked: a mysql:// URL, read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semel::mysql {

struct Target {
  std::string host;
  unsigned port = 0;
  std::string socket;  // empty: by host and port
  std::string user;
  std::string password;
  std::string database;
  enum class Tls { kOff, kOn, kVerify } tls = Tls::kOff;
  std::string tls_ca, tls_cert, tls_key;
  unsigned connect_timeout = 10;  // seconds
};

// Throws Failure (R259), without a word of the password.
Target target_of(std::string_view url);
// None where it cannot be read.
std::optional<Target> read_target(std::string_view url);

}  // namespace semel::mysql
