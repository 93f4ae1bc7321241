#include "sources/nats/make_nats_source.h"

#include <utility>

#include "sources/nats/source.h"

namespace semel::nats {

std::unique_ptr<Source> make_nats_source(NatsOptions options, Environment& environment) {
  return std::make_unique<NatsSource>(std::move(options), environment);
}

}  // namespace semel::nats
