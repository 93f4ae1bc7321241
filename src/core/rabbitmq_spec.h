// The config of a RabbitMQ source, and the rules that its parts must keep. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>

namespace semel::core {

struct RabbitmqNode {
  std::string host;
  unsigned port = 0;
  auto operator<=>(const RabbitmqNode&) const = default;
};

// The broker's addresses and the user.
struct RabbitmqAddress {
  std::vector<RabbitmqNode> nodes;  // of one cluster, never empty; tried one after the other
  std::string user;
  std::string password;
  std::string vhost;
  bool tls = false;

  // The nodes without user and password, for messages to people.
  std::string place() const;
};

// How to connect to it.
struct RabbitmqAccess {
  RabbitmqAddress address;
  std::chrono::seconds heartbeat = kUsualHeartbeat;
  std::string tls_ca, tls_cert, tls_key;  // PEM files; no CA: the system's are trusted

  static constexpr std::chrono::seconds kUsualHeartbeat{30};
};

struct RabbitmqSpec : RabbitmqAccess {
  enum class QueueType { kQuorum, kClassic };

  std::string queue;
  // The most unacknowledged messages: received and waiting, or being handled.
  int prefetch = kUsualPrefetch;
  // Create the queue where it is missing, durable and of this type; otherwise it must exist.
  bool declare = false;
  QueueType type = QueueType::kQuorum;

  static constexpr int kUsualPrefetch = 200;
};

// Parses amqp://user:password@host:port/vhost, or amqps:// with TLS; several hosts with commas
// between. On failure: why it is none, in words that follow "the URL", without any part of the
// password.
tl::expected<RabbitmqAddress, std::string> read_amqp_url(std::string_view url);

// Why no queue can have this name, or why it cannot be created, in words that follow it.
std::optional<std::string> rabbitmq_queue_flaw(std::string_view name, bool declare);

// After this time, by default, a broker closes a channel that has not acknowledged a delivery.
inline constexpr std::chrono::minutes kRabbitmqAckTimeout{30};

}  // namespace semel::core
