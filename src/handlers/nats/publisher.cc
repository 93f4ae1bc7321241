#include "handlers/nats/publisher.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "system/block_signals.h"

namespace semel::nats {

using std::chrono::milliseconds;

namespace {

// After this many calls in a row without an answer, the connection is at fault, not the calls.
constexpr std::size_t kMostUnanswered = 3;

Error no_right(const std::string& said) {
  return {ErrorKind::kUnavailable,
          "R385",
          fmt::format("this user may not do it: {}; the connection is made anew, for the right may "
                      "have been given since",
                      said),
          {}};
}

}  // namespace

NatsPublisher::NatsPublisher(core::NatsPublishSpec spec, Environment& environment)
    : spec_(std::move(spec)),
      environment_(environment),
      calls_([this] { wake_.signal(); }, handlers::kPublisherPatience) {
  thread_ = std::thread([this] { work(); });
}

NatsPublisher::~NatsPublisher() {
  calls_.close();
  wake_.signal();
  thread_.join();
}

void NatsPublisher::begin(const Message& message, const Attempt& attempt, Completion completion) {
  auto call = std::make_unique<Call>(message, attempt, std::move(completion), now());
  call->id = core::nats_message_id_of(message, spec_.subject);
  call->headers = core::nats_headers_of(message);
  if (const auto flaw = core::nats_headers_flaw(call->headers)) {
    return calls_.answer(std::move(call), nats_cannot_carry(*flaw).verdict);
  }
  const TimePoint deadline = call->begun + spec_.timeout;
  calls_.begin(std::move(call), deadline);
  wake_.signal();
}

milliseconds NatsPublisher::until(TimePoint then) const {
  constexpr milliseconds kLongest{60'000};
  if (then == handlers::InFlightTable::kNever) return kLongest;
  return std::clamp(std::chrono::ceil<milliseconds>(then - now()), milliseconds(0), kLongest);
}

void NatsPublisher::work() noexcept {
  system::block_signals();
  while (take_begun()) {
    take_late();
    if (connection_) {
      serve(calls_.next_deadline());
    } else if (!waiting_.empty() && now() >= not_before_) {
      connect();
    } else {
      const TimePoint late = calls_.next_deadline();
      wait_for_something(waiting_.empty() ? late : std::min(not_before_, late));
    }
  }
  say_farewell();
}

// False: the handler must end.
bool NatsPublisher::take_begun() {
  const auto news = calls_.take_news();
  waiting_.insert(waiting_.end(), news.begun.begin(), news.begun.end());
  for (const Ticket ticket : news.stopped) give_up(ticket, true);
  return !news.closing;
}

void NatsPublisher::take_late() {
  for (const Ticket ticket : calls_.take_late(now())) give_up(ticket, false);
  // A call that is late while nothing can be sent is never sent.
  while (!waiting_.empty() && calls_.find(waiting_.front()) == nullptr) waiting_.pop_front();
  // A server never retries a refused subscription, and does not report a permission that was
  // granted since.
  if (const std::string denied = std::exchange(denied_, {}); !denied.empty() && connection_) {
    return lose(no_right(denied));
  }
  if (silent_ < kMostUnanswered || !connection_) return;
  lose({ErrorKind::kUnavailable,
        "R380",
        fmt::format(
            "the server has answered none of {} messages in time: the connection to it is replaced",
            silent_),
        {}});
}

void NatsPublisher::give_up(Ticket ticket, bool stopped) {
  const Call* const call = calls_.find(ticket);
  if (call == nullptr) return;  // the call has already ended
  const bool sent = call->number != 0;
  // A stop comes at the same time as the timeout, and may be seen first.
  stopped = stopped && call->took(now()) < spec_.timeout;
  const std::string denied = sent && connection_ ? connection_->denied() : std::string();
  // Forget the number, so that a later answer is ignored.
  numbers_.erase(call->number);
  if (sent && !stopped && denied.empty()) ++silent_;
  if (!stopped && !denied.empty()) denied_ = denied;
  calls_.end(ticket, no_answer_to({call->took(now()), sent, stopped, denied, spec_.subject}));
}

}  // namespace semel::nats
