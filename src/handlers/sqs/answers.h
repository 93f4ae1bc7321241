// Answers of SQS or SNS as verdicts, and as news about it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <semel/error.h>

#include "clients/sqs/client.h"
#include "core/judged.h"
#include "handlers/sqs/entries.h"
#include "handlers/sqs/service.h"

namespace semel::sqs {

using core::Judged;

// The service has it, under this id of its own.
Judged judge_taken(const std::string& message_id);
// The verdict on one entry of a batch, of which others may have been taken. `doubt`: an earlier
// request may have brought it there.
Judged judge_entry(const RefusedEntry& refused, bool doubt, const Service& service);
// The verdict on a message of a whole batch, or on one that waits for its turn meanwhile; REQUIRES
// an answer that is an error. `doubt`: a request may have brought it there.
Judged judge_batch(const Client::Answer& answer, bool doubt, const Service& service);
// The batch was refused for what is in it: each of its messages is to go alone.
bool is_of_messages(const Refusal& refusal) noexcept;
// The answer does not name the message.
Judged not_named(const Service& service);

// Nobody mends it.
Judged cannot_be_a_message(const std::string& flaw, const Service& service);
Judged is_too_large(std::size_t bytes, const Service& service);

using core::NoAnswer;
Judged no_answer_to(const NoAnswer& call, const Service& service);

}  // namespace semel::sqs
