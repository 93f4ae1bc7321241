#include "handlers/rabbitmq/publisher.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "core/thrown.h"
#include "system/block_signals.h"

namespace semel::rabbitmq {

using std::chrono::milliseconds;

namespace {

// Time for outstanding confirms when the handler ends, and for its thread to end.
constexpr milliseconds kFarewellAndOut{3'000};
// A write that takes longer waits for a broker that does not read.
constexpr milliseconds kStuck{1'000};
// After this many calls in a row without a confirm, the connection is at fault, not the calls.
constexpr std::size_t kMostSilent = 3;

}  // namespace

RabbitmqPublisher::RabbitmqPublisher(core::RabbitmqPublishSpec spec, Environment& environment)
    : spec_(std::move(spec)),
      environment_(environment),
      calls_([this] { on_stop(); }, handlers::kPublisherPatience) {
  thread_ = std::thread([this] { work(); });
}

RabbitmqPublisher::~RabbitmqPublisher() {
  calls_.close();
  wake_.signal();
  {
    const system::MutexLock lock(mutex_);
    // The thread may be waiting for a broker that does not read.
    if (!changed_.wait_for(mutex_, kFarewellAndOut,
                           [this]() SEMEL_REQUIRES(mutex_) { return left_; }))
      cut();
  }
  thread_.join();
}

void RabbitmqPublisher::begin(const Message& message, const Attempt& attempt,
                              Completion completion) {
  auto call = std::make_unique<Call>(message, attempt, std::move(completion), now());
  try {
    call->outgoing = outgoing_of(message, spec_);
  } catch (const std::exception& thrown) {
    return calls_.answer(std::move(call), core::answer_to(thrown));
  }
  if (const auto flaw = outgoing_flaw(call->outgoing)) {
    return calls_.answer(std::move(call), cannot_be_carried(*flaw).verdict);
  }
  const TimePoint deadline = call->begun + spec_.timeout;
  calls_.begin(std::move(call), deadline);
  wake_.signal();
}

void RabbitmqPublisher::on_stop() noexcept {
  {
    const system::MutexLock lock(mutex_);
    if (sending_ && now() - *sending_ > kStuck) cut();
  }
  wake_.signal();
}

void RabbitmqPublisher::cut() {
  if (cutter_.valid()) ::shutdown(cutter_.get(), SHUT_RDWR);
}

void RabbitmqPublisher::work() noexcept {
  system::block_signals();
  while (take_news()) {
    take_late();
    drop_silent();
    if (channel_) {
      serve();
    } else if (!waiting_.empty() && now() >= not_before_) {
      connect();
    } else {
      wait_for_something(waiting_.empty() ? until_late()
                                          : std::chrono::ceil<milliseconds>(not_before_ - now()));
    }
  }
  say_farewell();
  const system::MutexLock lock(mutex_);
  cutter_.close();
  left_ = true;
  changed_.notify_all();
}

// False: the handler must end.
bool RabbitmqPublisher::take_news() {
  const auto news = calls_.take_news();
  waiting_.insert(waiting_.end(), news.begun.begin(), news.begun.end());
  for (const Ticket ticket : news.stopped) give_up(ticket, true);
  return !news.closing;
}

void RabbitmqPublisher::take_late() {
  for (const Ticket ticket : calls_.take_late(now())) give_up(ticket, false);
  // A call that is late while nothing can be sent is never sent.
  while (!waiting_.empty() && calls_.find(waiting_.front()) == nullptr) waiting_.pop_front();
}

void RabbitmqPublisher::drop_silent() {
  if (silent_ < kMostSilent || !channel_) return;
  lose({ErrorKind::kUnavailable,
        "R310",
        fmt::format("the broker has confirmed none of {} messages in time: the connection to it is "
                    "made anew",
                    silent_),
        {}});
}

milliseconds RabbitmqPublisher::until_late() const {
  constexpr milliseconds kLongest{60'000};
  const TimePoint next = calls_.next_deadline();
  if (next == handlers::InFlightTable::kNever) return kLongest;
  const auto left = next - now();
  return std::clamp(std::chrono::ceil<milliseconds>(left), milliseconds(0), kLongest);
}

void RabbitmqPublisher::give_up(Ticket ticket, bool stopped) {
  const Call* const call = calls_.find(ticket);
  if (call == nullptr) return;  // the call has already ended
  const bool sent = call->number != 0;
  // A stop comes at the same time as the timeout, and may be seen first.
  stopped = stopped && (spec_.timeout.count() == 0 || call->took(now()) < spec_.timeout);
  // Forget the number, so that a later confirm is ignored.
  numbers_.erase(call->number);
  if (sent && !stopped && blocked_.empty()) ++silent_;
  calls_.end(ticket, no_answer({call->took(now()), sent, stopped, blocked_}, one_route()));
}

}  // namespace semel::rabbitmq
