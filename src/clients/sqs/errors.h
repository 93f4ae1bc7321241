// Maps the service's refusals to Semel's errors, in one table.
#pragma once

#include <string>
#include <string_view>

#include <semel/error.h>

#include "core/sqs_spec.h"

namespace semel::sqs {

// A refusal by the service. `type` has no namespace prefix.
struct Refusal {
  int status = 0;
  std::string type;  // "QueueDoesNotExist"
  std::string said;
};
// Splits an unsuccessful answer into its parts.
Refusal refusal_in(int status, std::string_view body);
// Likewise of the query protocol.
Refusal query_refusal_in(int status, std::string_view body);

// The names that errors use: the service, its queue or topic, and their settings.
struct ServiceNames {
  std::string service = "SQS";
  std::string thing = "queue";
  std::string settings = "source.sqs";
  std::string address = "queue_url";  // one of the settings
  std::string rights =
      "sqs:ReceiveMessage, sqs:DeleteMessage, sqs:ChangeMessageVisibility and "
      "sqs:GetQueueAttributes";
};

// The actions that have succeeded before. An action that never did is refused for good; otherwise
// credentials or rights may be changing right now, and the call is retried.
struct Worked {
  bool any = false;     // any call
  bool action = false;  // a call of this action: rights are granted per action
};
// `receipts`: the call contained receipts, which may be the cause.
Error refused(const Refusal& refusal, const core::SqsAccess& access, const Worked& worked,
              bool receipts, const ServiceNames& names = {});
// There was no whole answer: `told` is the transfer's error.
Error unanswered(const Error& told, const core::SqsAccess& access, const ServiceNames& names = {});

// Too many requests, or too many messages in flight.
bool is_throttled(std::string_view type, int status) noexcept;
// The one who asks may not do it, also because of the key that a queue is encrypted with.
bool is_of_rights(std::string_view type) noexcept;
// There is no such queue or topic.
bool is_of_queue(std::string_view type) noexcept;
// The credentials are not, or no longer, ones that the service knows.
bool is_of_credentials(std::string_view type) noexcept;
// The clock of one side may be wrong.
bool is_of_time(std::string_view type) noexcept;
// A receipt handle is no longer valid.
bool is_of_receipt(std::string_view type) noexcept;

}  // namespace semel::sqs
