// Parses a mysql:// URL: the server's address and the user.
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

// Throws Failure (R259), without any part of the password.
Target target_of(std::string_view url);
// nullopt where it cannot be read.
std::optional<Target> read_target(std::string_view url);

}  // namespace semel::mysql
