// What a RabbitMQ source is told by its config, and the rules that its parts must keep. Pure.
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

// Where the broker is, and as whom it is asked.
struct RabbitmqAddress {
  std::vector<RabbitmqNode> nodes;  // of one cluster, never empty; tried one after the other
  std::string user;
  std::string password;
  std::string vhost;
  bool tls = false;

  // For messages: the nodes, without user and password.
  std::string place() const;
};

// How a connection to it is made.
struct RabbitmqAccess {
  RabbitmqAddress address;
  std::chrono::seconds heartbeat = kUsualHeartbeat;
  std::string tls_ca, tls_cert, tls_key;  // files in PEM format; without a CA the system's count

  static constexpr std::chrono::seconds kUsualHeartbeat{30};
};

struct RabbitmqSpec : RabbitmqAccess {
  enum class QueueType { kQuorum, kClassic };

  std::string queue;
  // The most messages that are out of the queue and not acknowledged: received and waiting, or
  // handled.
  int prefetch = kUsualPrefetch;
  // The queue is made where it is not there, durable and of this type; else it has to be there.
  bool declare = false;
  QueueType type = QueueType::kQuorum;

  static constexpr int kUsualPrefetch = 200;
};

// amqp://user:password@host:port/vhost, amqps:// with TLS; of several hosts with commas between.
// Else why it is none, in words that follow "the URL", without a word of the password.
tl::expected<RabbitmqAddress, std::string> read_amqp_url(std::string_view url);

// Why no queue has this name, or why it cannot be made, in words that follow it.
std::optional<std::string> rabbitmq_queue_flaw(std::string_view name, bool declare);

// The usual time after which a broker closes a channel that has not acknowledged a delivery.
inline constexpr std::chrono::minutes kRabbitmqAckTimeout{30};

}  // namespace semel::core
