// For builds without NATS.
#include "core/not_built.h"
#include "handlers/nats/make_nats_publisher.h"
#include "sources/nats/make_nats_source.h"

namespace semel::nats {
namespace {

Error no_nats() { return core::not_built("NATS", "NATS"); }

}  // namespace

// A config that names NATS is refused before this is called.
std::unique_ptr<Source> make_nats_source(NatsOptions, Environment&) { throw SemelError(no_nats()); }

Result<AsyncHandler> make_nats_publisher(core::NatsPublishSpec, Environment&) {
  return failure(no_nats());
}

Result<ConsumerLook> look_at_consumer(const core::NatsSpec&) { return failure(no_nats()); }

}  // namespace semel::nats
