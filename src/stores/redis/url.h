// Where a Redis server is, and as whom it is asked: a redis:// URL, read.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <semel/result.h>

namespace semel::redis {

struct Target {
  std::string host;
  unsigned port = 0;
  std::string socket;  // empty: by host and port
  std::string user;    // empty: the server's default user
  std::string password;
  // kOn: encrypted, by whoever's certificate; kVerify: by one that names the host as well.
  enum class Tls { kOff, kOn, kVerify } tls = Tls::kOff;
  std::string tls_ca, tls_cert, tls_key;  // files
  unsigned database = 0;
  std::chrono::milliseconds connect_timeout{10'000};  // until the server has let us in
  std::chrono::milliseconds answer_timeout{10'000};   // without a byte of an answer
};

// Throws core::Failure (R259), without a word of the password.
Target target_of(std::string_view url);

Result<Target> read_target(std::string_view url);

// For messages: without user and password.
std::string place_of(const Target& target);

}  // namespace semel::redis
