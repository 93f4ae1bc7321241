#include "handlers/sqs/service.h"

#include <semel/reason.h>

#include "handlers/sqs/forms.h"

namespace semel::sqs {

Service to_sqs(const core::SqsPublishSpec& spec) {
  Service made;
  made.names.settings = "handler.sqs";
  made.names.rights = "sqs:SendMessage, and with an encrypted queue the use of its key,";
  made.action = "SendMessageBatch";
  made.reason = &reason::sqs_reason;
  made.longest = core::kSqsLongestMessage;
  made.request = [url = spec.queue.url, delay = spec.delay](std::span<const OutgoingEntry> batch) {
    return batch_request(url, delay, batch);
  };
  made.read = &read_batch;
  return made;
}

Service to_sns(const core::SnsPublishSpec& spec) {
  Service made;
  made.names = {"SNS", "topic", "handler.sns", "topic_arn",
                "sns:Publish, and with an encrypted topic the use of its key,"};
  made.protocol = Client::Protocol::kQuery;
  made.action = "PublishBatch";
  made.reason = &reason::sns_reason;
  made.longest = core::kSnsLongestMessage;
  made.request = [arn = spec.queue.url](std::span<const OutgoingEntry> batch) {
    return batch_form(arn, batch);
  };
  made.read = &read_batch_xml;
  return made;
}

}  // namespace semel::sqs
