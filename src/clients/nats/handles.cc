#include "clients/nats/handles.h"

#include <nats/nats.h>

namespace semel::nats {

void NatsFreed::operator()(__natsOptions* options) const noexcept { natsOptions_Destroy(options); }
void NatsFreed::operator()(__natsConnection* connection) const noexcept {
  natsConnection_Destroy(connection);
}
void NatsFreed::operator()(__natsSubscription* subscription) const noexcept {
  natsSubscription_Destroy(subscription);
}
void NatsFreed::operator()(__natsMsg* message) const noexcept { natsMsg_Destroy(message); }

}  // namespace semel::nats
