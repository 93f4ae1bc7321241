// The SNS handler: each message is published to a topic.
#pragma once

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/result.h>

#include "core/sqs_publish_spec.h"

namespace semel::sqs {

// As make_sqs_publisher(), which see; the answer to each message is its id in SNS.
Result<AsyncHandler> make_sns_publisher(core::SnsPublishSpec spec,
                                        Environment& environment = system_environment());

}  // namespace semel::sqs
