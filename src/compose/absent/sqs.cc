// For builds without SQS.
#include "core/not_built.h"
#include "handlers/sqs/make_sns_publisher.h"
#include "handlers/sqs/make_sqs_publisher.h"
#include "sources/sqs/make_sqs_source.h"

namespace semel::sqs {
namespace {

Error no_sqs() { return core::not_built("SQS", "SQS"); }

}  // namespace

// A config that names SQS is refused before this is called.
std::unique_ptr<Source> make_sqs_source(SqsOptions, Environment&) { throw SemelError(no_sqs()); }

Result<AsyncHandler> make_sqs_publisher(core::SqsPublishSpec, Environment&) {
  return failure(no_sqs());
}

Result<AsyncHandler> make_sns_publisher(core::SnsPublishSpec, Environment&) {
  return failure(no_sqs());
}

Result<QueueFacts> look_at_queue(const core::SqsSpec&) { return failure(no_sqs()); }

}  // namespace semel::sqs
