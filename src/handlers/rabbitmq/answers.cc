#include "handlers/rabbitmq/answers.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include <semel/reason.h>

namespace semel::rabbitmq {

namespace {

using Broker = Judged::Broker;

Judged again(std::string_view word, std::string why, Broker broker, bool unknown) {
  return core::judged_again(reason::rabbitmq_reason(word), std::move(why), broker, unknown);
}

Judged given_up(std::string_view word, std::string why) {
  return core::judged_dead(reason::rabbitmq_reason(word), std::move(why), Broker::kSilent);
}

Broker fault_of(bool one_route) noexcept { return one_route ? Broker::kAtFault : Broker::kSilent; }
Broker refusal_of(bool one_route) noexcept {
  return one_route ? Broker::kRefuses : Broker::kSilent;
}

std::string exchange_text(const Route& route) {
  return route.exchange.empty() ? "the default exchange"
                                : fmt::format("exchange \"{}\"", route.exchange);
}

}  // namespace

Judged confirmed() {
  Judged made;
  made.verdict = done();
  return made;
}

// An exchange may route by headers.
Judged unroutable(const Route& route, const std::string& said, bool one_route) {
  Judged made =
      again("unroutable",
            fmt::format("{} has no queue for routing key \"{}\" ({}): make the queue, or bind it",
                        exchange_text(route), route.routing_key, said),
            refusal_of(one_route), false);
  made.costs_alone = one_route;
  return made;
}

Judged no_exchange(const Route& route, bool one_route) {
  return again("exchange", fmt::format("there is no {}: make it", exchange_text(route)),
               fault_of(one_route), false);
}

Judged not_taken(const Route& route, bool one_route) {
  return again(
      "nack",
      fmt::format("the broker did not take it from {} with routing key \"{}\": a queue may "
                  "be full, or without its leader",
                  exchange_text(route), route.routing_key),
      refusal_of(one_route), true);
}

Judged too_large(const std::string& said) {
  return given_up("too_large", fmt::format("the message is too large: {}", said));
}

Judged cannot_be_carried(const std::string& flaw) {
  return given_up("invalid", fmt::format("AMQP cannot carry it: the message {}", flaw));
}

Judged not_connected(const std::string& why) {
  return again("connect", why, Broker::kAtFault, false);
}

Judged not_confirmed(const char* word, const std::string& why, bool one_route) {
  return again(word, why, fault_of(one_route), true);
}

Judged no_answer(const Unanswered& call, bool one_route) {
  const char* const what = call.sent ? "no confirm" : "it was not sent";
  if (!call.blocked.empty()) {
    return again("blocked",
                 fmt::format("{} within {} ms: the broker takes nothing for now ({})", what,
                             call.after.count(), call.blocked),
                 Broker::kSilent, call.sent);
  }
  const bool at_fault = call.sent && !call.stopped;
  return again("timeout", fmt::format("{} within {} ms", what, call.after.count()),
               at_fault ? fault_of(one_route) : Broker::kSilent, call.sent);
}

std::size_t size_refused(const std::string& said) {
  // "PRECONDITION_FAILED - message size 2000 is larger than configured max size 1000"
  constexpr std::string_view kBefore = "message size ";
  const auto found = said.find(kBefore);
  if (found == std::string::npos || said.find("larger") == std::string::npos) return 0;
  std::size_t size = 0;
  std::from_chars(said.data() + found + kBefore.size(), said.data() + said.size(), size);
  return size;
}

}  // namespace semel::rabbitmq
