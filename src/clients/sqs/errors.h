// The service's refusals as errors of ours: one table.
#pragma once

#include <string>
#include <string_view>

#include <semel/error.h>

#include "core/sqs_spec.h"

namespace semel::sqs {

// A refusal as the service says it: `type` without the namespace in front of it.
struct Refusal {
  int status = 0;
  std::string type;  // "QueueDoesNotExist"
  std::string said;
};
// An answer that is no success, in its parts.
Refusal refusal_in(int status, std::string_view body);
// Likewise of the query protocol.
Refusal query_refusal_in(int status, std::string_view body);

// What errors name: the service, what is there, and the settings that say so.
struct ServiceNames {
  std::string service = "SQS";
  std::string thing = "queue";
  std::string settings = "source.sqs";
  std::string address = "queue_url";  // one of the settings
  std::string rights =
      "sqs:ReceiveMessage, sqs:DeleteMessage, sqs:ChangeMessageVisibility and "
      "sqs:GetQueueAttributes";
};

// Actions that have worked before. One that never did is refused for good; else credentials or
// rights may be changed right now, and are waited for.
struct Worked {
  bool any = false;     // some call
  bool action = false;  // a call of this action: rights are given for each
};
// `receipts`: receipts were shown, and may be why.
Error refused(const Refusal& refusal, const core::SqsAccess& access, const Worked& worked,
              bool receipts, const ServiceNames& names = {});
// There was no whole answer: `told` is the transfer's error.
Error unanswered(const Error& told, const core::SqsAccess& access, const ServiceNames& names = {});

// Too many requests, or messages in flight, for now.
bool is_throttled(std::string_view type, int status) noexcept;
// The one who asks may not do it, also because of the key that a queue is encrypted with.
bool is_of_rights(std::string_view type) noexcept;
// There is no such queue or topic.
bool is_of_queue(std::string_view type) noexcept;
// The credentials are not, or no longer, ones that the service knows.
bool is_of_credentials(std::string_view type) noexcept;
// It may be that the clock of one side is wrong.
bool is_of_time(std::string_view type) noexcept;
// A receipt handle that means nothing any more.
bool is_of_receipt(std::string_view type) noexcept;

}  // namespace semel::sqs
