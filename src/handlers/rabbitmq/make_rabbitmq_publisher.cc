#include "handlers/rabbitmq/make_rabbitmq_publisher.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "handlers/rabbitmq/publisher.h"

namespace semel::rabbitmq {

namespace {

Error refused_spec(std::string message, std::string hint) {
  return {ErrorKind::kRejected, "R255", std::move(message), std::move(hint)};
}

Result<void> check_spec(const core::RabbitmqPublishSpec& spec) {
  if (spec.address.nodes.empty()) {
    return failure(refused_spec("no broker is named", "rabbitmq: { url: amqp://host }"));
  }
  if (spec.route_of) return {};
  if (const auto flaw = core::rabbitmq_exchange_flaw(spec.route.exchange)) {
    return failure(refused_spec(fmt::format("the exchange \"{}\" {}", spec.route.exchange, *flaw),
                                "exchange: events"));
  }
  if (const auto flaw = core::rabbitmq_routing_key_flaw(spec.route.routing_key)) {
    return failure(
        refused_spec(fmt::format("the routing key \"{}\" {}", spec.route.routing_key, *flaw),
                     "routing_key: orders"));
  }
  if (spec.route.exchange.empty() && spec.route.routing_key.empty()) {
    return failure(refused_spec("neither an exchange nor a queue is named", "queue: orders"));
  }
  return {};
}

}  // namespace

Result<AsyncHandler> make_rabbitmq_publisher(core::RabbitmqPublishSpec spec,
                                             Environment& environment) {
  if (auto checked = check_spec(spec); !checked) return failure(std::move(checked.error()));
  auto publisher = std::make_shared<RabbitmqPublisher>(std::move(spec), environment);
  return AsyncHandler([publisher = std::move(publisher)](
                          const Message& message, const Attempt& attempt, Completion completion) {
    publisher->begin(message, attempt, std::move(completion));
  });
}

}  // namespace semel::rabbitmq
