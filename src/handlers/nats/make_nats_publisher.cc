#include "handlers/nats/make_nats_publisher.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "handlers/nats/publisher.h"

namespace semel::nats {

namespace {

Result<void> check_spec(const core::NatsPublishSpec& spec) {
  const auto refuse = [](std::string message, std::string hint) {
    return failure({ErrorKind::kRejected, "R255", std::move(message), std::move(hint)});
  };
  if (spec.address.nodes.empty()) {
    return refuse("no server is named", "nats: { url: nats://host:4222 }");
  }
  if (const auto flaw = core::nats_publish_subject_flaw(spec.subject)) {
    return refuse(fmt::format("the subject \"{}\" {}", spec.subject, *flaw),
                  "subject: orders.paid");
  }
  return {};
}

}  // namespace

Result<AsyncHandler> make_nats_publisher(core::NatsPublishSpec spec, Environment& environment) {
  if (auto checked = check_spec(spec); !checked) return failure(std::move(checked.error()));
  auto publisher = std::make_shared<NatsPublisher>(std::move(spec), environment);
  return AsyncHandler([publisher = std::move(publisher)](
                          const Message& message, const Attempt& attempt, Completion completion) {
    publisher->begin(message, attempt, std::move(completion));
  });
}

}  // namespace semel::nats
