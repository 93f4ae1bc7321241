// A redis:// URL, parsed: the address of a server, the account and the limits of a connection.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>

namespace semel::redis {

struct Endpoint {
  std::string host;
  unsigned port = 0;
  auto operator<=>(const Endpoint&) const = default;
};

struct Target {
  std::string host;
  unsigned port = 0;
  std::vector<Endpoint> others;  // nodes of the same Cluster, used if the first does not answer
  std::string socket;            // empty: host and port are used
  std::string user;              // empty: the server's default user
  std::string password;
  // kOn: encrypted, the certificate is not verified. kVerify: it must be trusted and name the host.
  enum class Tls { kOff, kOn, kVerify } tls = Tls::kOff;
  std::string tls_ca, tls_cert, tls_key;  // files
  unsigned database = 0;
  std::chrono::milliseconds connect_timeout{10'000};  // including the login
  std::chrono::milliseconds answer_timeout{10'000};   // longest time without a byte of a reply
  // When it becomes readable, all waits for the server end as if the server were silent. Borrowed;
  // -1: none.
  int stop_fd = -1;
};

// Throws core::Failure (R259), which never shows the password.
Target target_of(std::string_view url);

Result<Target> read_target(std::string_view url);

// One target for each endpoint that the URL names.
std::vector<Target> each_of(const Target& target);

// For messages: host and port, or the path of the socket; never user or password.
std::string endpoint_text(const Target& target);

}  // namespace semel::redis
