#include "handlers/sqs/make_sqs_publisher.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "handlers/sqs/publisher.h"

namespace semel::sqs {

namespace {

Result<void> check_spec(const core::SqsPublishSpec& spec) {
  const auto refuse = [](std::string message, std::string hint) {
    return failure({ErrorKind::kRejected, "R255", std::move(message), std::move(hint)});
  };
  if (spec.queue.name.empty()) {
    return refuse("no queue is named",
                  "queue_url: https://sqs.eu-west-1.amazonaws.com/123456789012/orders");
  }
  if (spec.region.empty()) {
    return refuse(fmt::format("the host {} names no region, and requests are signed for one",
                              spec.queue.host),
                  "region: eu-west-1; a server of your own takes any");
  }
  if (!spec.fifo.group.empty()) {
    if (const auto flaw = core::sqs_group_flaw(spec.fifo.group)) {
      return refuse(fmt::format("the group \"{}\" {}", spec.fifo.group, *flaw), "group: orders");
    }
  }
  return {};
}

}  // namespace

Result<AsyncHandler> make_sqs_publisher(core::SqsPublishSpec spec, Environment& environment) {
  if (auto checked = check_spec(spec); !checked) return failure(std::move(checked.error()));
  Service service = to_sqs(spec);
  auto publisher = std::make_shared<SqsPublisher>(std::move(spec), std::move(service), environment);
  return AsyncHandler([publisher = std::move(publisher)](
                          const Message& message, const Attempt& attempt, Completion completion) {
    publisher->begin(message, attempt, std::move(completion));
  });
}

}  // namespace semel::sqs
