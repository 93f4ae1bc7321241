// The config of a NATS JetStream source, and the rules that its parts must keep. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>

namespace semel::core {

struct NatsNode {
  std::string host;
  unsigned port = 0;
  auto operator<=>(const NatsNode&) const = default;
};

// The servers' addresses and the user.
struct NatsAddress {
  std::vector<NatsNode> nodes;  // servers of one cluster, never empty; tried one after the other
  std::string user;
  std::string password;
  bool tls = false;

  // The nodes without user and password, for messages to people.
  std::string place() const;
};

// How to connect to them.
struct NatsAccess {
  NatsAddress address;
  std::string token;                      // instead of user and password
  std::string credentials;                // a file with a user's JWT and its seed
  std::string tls_ca, tls_cert, tls_key;  // PEM files; no CA: the system's are trusted
};

struct NatsSpec : NatsAccess {
  std::string stream;
  std::string durable;  // the consumer's name
  std::string subject;  // with `declare`: only this subject; empty: the whole stream
  // The most unacknowledged deliveries: received and waiting, or being handled.
  int prefetch = kUsualPrefetch;
  // Create the consumer where it is missing; otherwise it must exist.
  bool declare = false;
  // With `declare`: when a delivery that was not renewed comes again.
  std::chrono::milliseconds ack_wait = kUsualAckWait;

  static constexpr int kUsualPrefetch = 500;
  static constexpr std::chrono::seconds kUsualAckWait{30};
};

// How long a stream drops repeats of a Nats-Msg-Id, unless it was created with another window.
inline constexpr std::chrono::minutes kNatsDeduplicates{2};

// Parses nats://user:password@host:port, or tls:// with TLS; several hosts with commas between. On
// failure: why it is none, in words that follow "the URL", without any part of the password.
tl::expected<NatsAddress, std::string> read_nats_url(std::string_view url);

// Why no stream or consumer can have this name, in words that follow it.
std::optional<std::string> nats_name_flaw(std::string_view name);
// Why nothing is published to this subject; * and > are allowed as wildcards.
std::optional<std::string> nats_subject_flaw(std::string_view subject);

}  // namespace semel::core
