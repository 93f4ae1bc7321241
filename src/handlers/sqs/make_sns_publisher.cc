#include "handlers/sqs/make_sns_publisher.h"

#include <utility>

#include "handlers/sqs/publisher.h"

namespace semel::sqs {

Result<AsyncHandler> make_sns_publisher(core::SnsPublishSpec spec, Environment& environment) {
  if (spec.queue.name.empty() || spec.region.empty()) {
    return failure({ErrorKind::kRejected, "R255", "no topic is named",
                    "topic_arn: arn:aws:sns:eu-west-1:123456789012:orders"});
  }
  Service service = to_sns(spec);
  return make_publisher(std::move(spec), std::move(service), environment);
}

}  // namespace semel::sqs
