#include "handlers/sqs/make_sqs_publisher.h"

#include <fmt/format.h>

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
  return {};
}

}  // namespace

Result<AsyncHandler> make_sqs_publisher(core::SqsPublishSpec spec, Environment& environment) {
  if (auto checked = check_spec(spec); !checked) return failure(std::move(checked.error()));
  Service service = to_sqs(spec);
  return make_publisher(std::move(spec), std::move(service), environment);
}

}  // namespace semel::sqs
