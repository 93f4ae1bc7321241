// For builds without RabbitMQ.
#include "core/not_built.h"
#include "handlers/rabbitmq/make_rabbitmq_publisher.h"
#include "sources/rabbitmq/make_rabbitmq_source.h"

namespace semel::rabbitmq {
namespace {

Error no_rabbitmq() { return core::not_built("RabbitMQ", "RABBITMQ"); }

}  // namespace

// A config that names RabbitMQ is refused before this is called.
std::unique_ptr<Source> make_rabbitmq_source(RabbitmqOptions, Environment&) {
  throw SemelError(no_rabbitmq());
}

Result<QueueLook> look_at_queue(const core::RabbitmqSpec&) { return failure(no_rabbitmq()); }

Result<AsyncHandler> make_rabbitmq_publisher(core::RabbitmqPublishSpec, Environment&) {
  return failure(no_rabbitmq());
}

}  // namespace semel::rabbitmq
