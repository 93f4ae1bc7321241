#include "clients/rabbitmq/handles.h"

#include <amqp.h>

namespace semel::rabbitmq {

void Freed::operator()(amqp_connection_state_t_* connection) const noexcept {
  amqp_destroy_connection(connection);
}

}  // namespace semel::rabbitmq
