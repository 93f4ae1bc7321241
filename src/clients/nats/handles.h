// Destructors for the objects of cnats.
#pragma once

#include <memory>

struct __natsConnection;
struct __natsMsg;
struct __natsOptions;
struct __natsSubscription;

namespace semel::nats {

struct NatsFreed {
  void operator()(__natsOptions* options) const noexcept;
  // Closes the connection; pending data may still be sent.
  void operator()(__natsConnection* connection) const noexcept;
  void operator()(__natsSubscription* subscription) const noexcept;
  void operator()(__natsMsg* message) const noexcept;
};

using OptionsPtr = std::unique_ptr<__natsOptions, NatsFreed>;
using ConnectionPtr = std::unique_ptr<__natsConnection, NatsFreed>;
using SubscriptionPtr = std::unique_ptr<__natsSubscription, NatsFreed>;
using MessagePtr = std::unique_ptr<__natsMsg, NatsFreed>;

}  // namespace semel::nats
