#include "sources/rabbitmq/make_rabbitmq_source.h"

#include <utility>

#include "sources/rabbitmq/source.h"

namespace semel::rabbitmq {

std::unique_ptr<Source> make_rabbitmq_source(RabbitmqOptions options, Environment& environment) {
  return std::make_unique<RabbitmqSource>(std::move(options), environment);
}

}  // namespace semel::rabbitmq
