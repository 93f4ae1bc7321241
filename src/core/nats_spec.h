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

// Where the servers are, and as which user they are asked.
struct NatsAddress {
  std::vector<NatsNode> nodes;  // servers of one cluster, never empty; tried one after the other
  std::string user;
  std::string password;
  bool tls = false;

  // For messages: the nodes, without user and password.
  std::string place() const;
};

// How a connection to them is made.
struct NatsAccess {
  NatsAddress address;
  std::string token;                      // in place of user and password
  std::string credentials;                // a file with a user's JWT and its seed
  std::string tls_ca, tls_cert, tls_key;  // files in PEM format; without a CA the system's count
};

struct NatsSpec : NatsAccess {
  std::string stream;
  std::string durable;  // the consumer's name
  std::string subject;  // with `declare`: only what was published there; empty: the whole stream
  // The most messages that are delivered and not acknowledged: received and waiting, or handled.
  int prefetch = kUsualPrefetch;
  // The consumer is made where it is not there; else it has to be there.
  bool declare = false;
  // With `declare`: when a delivery that nobody has renewed comes again.
  std::chrono::milliseconds ack_wait = kUsualAckWait;

  static constexpr int kUsualPrefetch = 500;
  static constexpr std::chrono::seconds kUsualAckWait{30};
};

// So long a stream drops what is published under a Nats-Msg-Id that it knows, unless it was made
// with another window.
inline constexpr std::chrono::minutes kNatsDeduplicates{2};

// nats://user:password@host:port, tls:// with TLS; several hosts with commas between. Else why it
// is none, in words that follow "the URL", without a word of the password.
tl::expected<NatsAddress, std::string> read_nats_url(std::string_view url);

// Why no stream and no consumer has this name, in words that follow it.
std::optional<std::string> nats_name_flaw(std::string_view name);
// Why nothing is published to this subject, where * and > may stand for parts of it.
std::optional<std::string> nats_subject_flaw(std::string_view subject);

}  // namespace semel::core
