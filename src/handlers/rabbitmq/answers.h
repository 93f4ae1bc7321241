// What becomes of a message that was to be published, and what it says about the broker.
#pragma once

#include <chrono>
#include <string>

#include "core/judged.h"
#include "core/rabbitmq_publish_spec.h"

namespace semel::rabbitmq {

using core::Judged;
using Route = core::RabbitmqPublishSpec::Route;

Judged confirmed();
// The broker's operator mends these; `one_route`: all messages take it.
Judged unroutable(const Route& route, const std::string& said, bool one_route);
Judged no_exchange(const Route& route, bool one_route);
Judged not_taken(const Route& route, bool one_route);
// Nobody mends these.
Judged too_large(const std::string& said);
Judged cannot_be_carried(const std::string& flaw);
// There is no connection, so that it was not sent.
Judged not_connected(const std::string& why);
// It was sent, and the connection or its channel ended before the confirm. `word`: of the reason.
Judged not_confirmed(const char* word, const std::string& why, bool one_route);
// It waited for long enough, or its attempt was stopped.
struct Unanswered {
  std::chrono::milliseconds after;
  bool sent;
  bool stopped;         // that says nothing about the broker
  std::string blocked;  // why the broker reads nothing; empty: it does
};
Judged no_answer(const Unanswered& call, bool one_route);

// What the broker says of a message that is beyond its limit names its size; 0 where it says
// something else.
std::size_t size_refused(const std::string& said);

}  // namespace semel::rabbitmq
