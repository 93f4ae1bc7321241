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

// Actions that have worked before. One that never did is refused for good; else credentials or
// rights may be changed right now, and are waited for.
struct Worked {
  bool any = false;     // some call
  bool action = false;  // a call of this action: rights are given for each
};
// `receipts`: receipts were shown, and may be why.
Error refused(const Refusal& refusal, const core::SqsAccess& access, const Worked& worked,
              bool receipts);
// There was no whole answer: `told` is the transfer's error.
Error unanswered(const Error& told, const core::SqsAccess& access);

// Too many requests, or messages in flight, for now.
bool is_throttled(std::string_view type, int status) noexcept;
// The credentials are not, or no longer, ones that the service knows.
bool is_of_credentials(std::string_view type) noexcept;
// It may be that the clock of one side is wrong.
bool is_of_time(std::string_view type) noexcept;
// A receipt handle that means nothing any more.
bool is_of_receipt(std::string_view type) noexcept;

}  // namespace semel::sqs
