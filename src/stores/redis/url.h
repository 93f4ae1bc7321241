// Where a Redis server is, and as whom it is asked: a redis:// URL, read.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>

namespace semel::redis {

struct NodePlace {
  std::string host;
  unsigned port = 0;
  auto operator<=>(const NodePlace&) const = default;
};

struct Target {
  std::string host;
  unsigned port = 0;
  std::vector<NodePlace> others;  // nodes of the same Cluster, where the first does not answer
  std::string socket;             // empty: by host and port
  std::string user;               // empty: the server's default user
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

// The same with each of the places that it names, as the one and only.
std::vector<Target> each_of(const Target& target);

// For messages: without user and password.
std::string place_of(const Target& target);

}  // namespace semel::redis
