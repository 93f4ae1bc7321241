#include "handlers/sqs/publisher.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/thrown.h"
#include "system/block_signals.h"

namespace semel::sqs {

using std::chrono::milliseconds;

SqsPublisher::SqsPublisher(core::SqsSendSpec spec, Service service, Environment& environment)
    : spec_(std::move(spec)),
      service_(std::move(service)),
      environment_(environment),
      client_(spec_, service_.names, service_.protocol),
      calls_([this] { client_.wake(); }, handlers::kPublisherPatience) {
  thread_ = std::thread([this] { work(); });
}

SqsPublisher::~SqsPublisher() {
  calls_.close();
  client_.wake();
  thread_.join();
}

void SqsPublisher::begin(const Message& message, const Attempt& attempt, Completion completion) {
  auto call = std::make_unique<Call>(message, attempt, std::move(completion), now());
  if (const auto flaw = core::sqs_payload_flaw(message.payload())) {
    return calls_.answer(std::move(call), cannot_be_a_message(*flaw, service_).verdict);
  }
  try {
    call->entry = entry_of(message, spec_);
  } catch (const std::exception& thrown) {
    return calls_.answer(std::move(call), core::answer_to(thrown));
  }
  if (const std::size_t size = call->entry.size; size > service_.longest) {
    return calls_.answer(std::move(call), is_too_large(size, service_).verdict);
  }
  const TimePoint deadline = call->begun + spec_.timeout;
  calls_.begin(std::move(call), deadline);
  client_.wake();
}

void SqsPublisher::work() noexcept {
  system::block_signals();
  while (take_news()) {
    take_late();
    send_waiting();
    client_.run(patience());
  }
  say_farewell();
}

// False: the thread must end.
bool SqsPublisher::take_news() {
  const auto news = calls_.take_news();
  waiting_.insert(waiting_.end(), news.begun.begin(), news.begun.end());
  for (const Ticket ticket : news.stopped) give_up(ticket, true);
  return !news.closing;
}

void SqsPublisher::take_late() {
  for (const Ticket ticket : calls_.take_late(now())) give_up(ticket, false);
}

void SqsPublisher::give_up(Ticket ticket, bool stopped) {
  const Call* const call = calls_.find(ticket);
  if (call == nullptr) return;  // the call has already ended
  // A stop comes at the same time as the timeout, and may be seen first.
  stopped = stopped && call->took(now()) < spec_.timeout;
  if (!call->sent) std::erase(waiting_, ticket);
  const bool sent = call->sent || call->doubt;
  calls_.end(ticket, no_answer_to({call->took(now()), sent, stopped, last_trouble_}, service_));
}

milliseconds SqsPublisher::patience() const {
  constexpr milliseconds kLongest{60'000};
  TimePoint until = std::min(calls_.next_deadline(), now() + kLongest);
  if (!waiting_.empty() && not_before_ > now()) until = std::min(until, not_before_);
  return std::max(std::chrono::ceil<milliseconds>(until - now()), milliseconds(0));
}

Result<AsyncHandler> make_publisher(core::SqsSendSpec spec, Service service,
                                    Environment& environment) {
  if (!spec.fifo.group.empty()) {
    if (const auto flaw = core::sqs_group_flaw(spec.fifo.group)) {
      return failure({ErrorKind::kRejected, "R255",
                      fmt::format("the group \"{}\" {}", spec.fifo.group, *flaw), "group: orders"});
    }
  }
  auto publisher = std::make_shared<SqsPublisher>(std::move(spec), std::move(service), environment);
  return AsyncHandler([publisher = std::move(publisher)](
                          const Message& message, const Attempt& attempt, Completion completion) {
    publisher->begin(message, attempt, std::move(completion));
  });
}

}  // namespace semel::sqs
