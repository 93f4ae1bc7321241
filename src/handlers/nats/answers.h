// Maps answers of JetStream to verdicts, and to news about its servers.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <semel/error.h>

#include "core/judged.h"

namespace semel::nats {

using core::Judged;

// `answer`: a stream's answer to a message, a JSON document.
Judged judge_stored(std::string_view answer, const std::string& subject);
// No stream takes the subject.
Judged no_stream_for(const std::string& subject);

// Nobody can fix these.
Judged nats_cannot_carry(const std::string& flaw);
Judged beyond_max_payload(std::size_t bytes, std::int64_t most);

// There is no connection, so it was not sent.
Judged not_reached(const Error& error);
// It was sent, and the connection ended before the answer.
Judged not_stored_for_sure(const Error& error);

// Its timeout passed, or its attempt was stopped.
struct NotConfirmed {
  std::chrono::milliseconds after;
  bool sent;
  bool stopped;        // which says nothing about the servers
  std::string denied;  // what the server forbids, in its words; empty: nothing
  std::string subject;
};
Judged no_answer_to(const NotConfirmed& call);

}  // namespace semel::nats
