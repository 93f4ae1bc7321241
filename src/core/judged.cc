#include "core/judged.h"

#include <fmt/format.h>

#include <utility>

namespace semel::core {

Judged judged_again(std::string code, std::string why, Judged::Broker broker, bool unknown) {
  Judged made;
  Verdict::Retry verdict;
  verdict.reason = why;
  verdict.code = std::move(code);
  verdict.counted = false;
  verdict.unknown = unknown;
  made.verdict = std::move(verdict);
  made.broker = broker;
  made.why = std::move(why);
  return made;
}

Judged judged_no_answer(const NoAnswer& call, std::string code) {
  std::string why = fmt::format("{} within {} ms", call.sent ? "no answer" : "it was not sent",
                                call.after.count());
  if (!call.last.empty()) why += ": " + call.last;
  const bool at_fault = !call.stopped && (call.sent || !call.last.empty());
  return judged_again(std::move(code), std::move(why),
                      at_fault ? Judged::Broker::kAtFault : Judged::Broker::kSilent, call.sent);
}

Judged judged_dead(std::string code, std::string why, Judged::Broker broker) {
  Judged made;
  Verdict::Dead verdict;
  verdict.reason = std::move(why);
  verdict.code = std::move(code);
  made.verdict = std::move(verdict);
  made.broker = broker;
  return made;
}

GateNews GateNews::of(Breaker& breaker, Breaker::Ticket call, Breaker::MessageId message,
                      Judged::Broker broker) {
  GateNews news;
  switch (broker) {
    case Judged::Broker::kWorks:
      news.open = breaker.answered(call, message);
      break;
    case Judged::Broker::kAtFault:
      news.shut = breaker.at_fault(call);
      break;
    case Judged::Broker::kRefuses: {
      const Breaker::Denial denial = breaker.denied(call, message);
      news.shut = denial.shut;
      news.own = denial.own;
      break;
    }
    case Judged::Broker::kSilent:
      break;
  }
  return news;
}

void GateNews::tell(Gate* gate, std::string_view why) const noexcept {
  if (gate == nullptr) return;
  if (open) gate->open();
  if (shut) gate->shut(*shut, why);
}

}  // namespace semel::core
