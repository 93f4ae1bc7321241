#include "handlers/sqs/make_sns_publisher.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "handlers/sqs/publisher.h"

namespace semel::sqs {

Result<AsyncHandler> make_sns_publisher(core::SnsPublishSpec spec, Environment& environment) {
  const auto refuse = [](std::string message, std::string hint) {
    return failure({ErrorKind::kRejected, "R255", std::move(message), std::move(hint)});
  };
  if (spec.queue.name.empty() || spec.region.empty()) {
    return refuse("no topic is named", "topic_arn: arn:aws:sns:eu-west-1:123456789012:orders");
  }
  if (!spec.fifo.group.empty()) {
    if (const auto flaw = core::sqs_group_flaw(spec.fifo.group)) {
      return refuse(fmt::format("the group \"{}\" {}", spec.fifo.group, *flaw), "group: orders");
    }
  }
  Service service = to_sns(spec);
  auto publisher = std::make_shared<SqsPublisher>(std::move(spec), std::move(service), environment);
  return AsyncHandler([publisher = std::move(publisher)](
                          const Message& message, const Attempt& attempt, Completion completion) {
    publisher->begin(message, attempt, std::move(completion));
  });
}

}  // namespace semel::sqs
