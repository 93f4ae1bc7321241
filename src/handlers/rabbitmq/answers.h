// Maps results of publishing to verdicts, and to news about the broker.
#pragma once

#include <chrono>
#include <string>

#include "core/judged.h"
#include "core/rabbitmq_publish_spec.h"

namespace semel::rabbitmq {

using core::Judged;
using Route = core::RabbitmqPublishSpec::Route;

Judged confirmed();
// The broker's operator can fix these; `one_route`: all messages take it.
Judged unroutable(const Route& route, const std::string& said, bool one_route);
Judged no_exchange(const Route& route, bool one_route);
Judged not_taken(const Route& route, bool one_route);
// Nobody can fix these.
Judged too_large(const std::string& said);
Judged cannot_be_carried(const std::string& flaw);
// There is no connection, so it was not sent.
Judged not_connected(const std::string& why);
// It was sent, and the connection or its channel ended before the confirm. `word`: of the reason.
Judged not_confirmed(const char* word, const std::string& why, bool one_route);
// Its timeout passed, or its attempt was stopped.
struct Unanswered {
  std::chrono::milliseconds after;
  bool sent;
  bool stopped;         // which says nothing about the broker
  std::string blocked;  // why the broker stopped reading; empty: it reads
};
Judged no_answer(const Unanswered& call, bool one_route);

// The size that the broker's text names for a message beyond its limit; 0 for any other text.
std::size_t size_refused(const std::string& said);

}  // namespace semel::rabbitmq
