#include "core/judged.h"

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

Judged judged_dead(std::string code, std::string why, Judged::Broker broker) {
  Judged made;
  Verdict::Dead verdict;
  verdict.reason = std::move(why);
  verdict.code = std::move(code);
  made.verdict = std::move(verdict);
  made.broker = broker;
  return made;
}

GateNews GateNews::of(Breaker& breaker, Breaker::Ticket call, Judged::Broker broker) noexcept {
  GateNews news;
  if (broker == Judged::Broker::kWorks) news.open = breaker.answered(call);
  if (broker == Judged::Broker::kAtFault) news.shut = breaker.at_fault(call);
  return news;
}

void GateNews::tell(Gate* gate, std::string_view why) const noexcept {
  if (gate == nullptr) return;
  if (open) gate->open();
  if (shut) gate->shut(*shut, why);
}

}  // namespace semel::core
