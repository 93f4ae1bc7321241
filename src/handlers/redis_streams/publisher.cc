#include "handlers/redis_streams/publisher.h"

#include <algorithm>
#include <utility>

#include "core/publish_headers.h"
#include "system/block_signals.h"

namespace semel::redis_streams {

using std::chrono::milliseconds;

namespace {

// Time for outstanding answers when the handler ends, and for its thread to end.
constexpr milliseconds kFarewellAndOut{3'000};
// The least time that a server gets, however short the calls' timeout is.
constexpr milliseconds kLeastSilence{1'000};

}  // namespace

// The server is not awaited longer than the calls' timeout.
redis::Target StreamPublisher::bounded(redis::Target target) const {
  const milliseconds most = std::max(spec_.timeout, kLeastSilence);
  target.connect_timeout = std::min(target.connect_timeout, most);
  target.answer_timeout = std::min(target.answer_timeout, most);
  target.stop_fd = leave_.get();
  return target;
}

StreamPublisher::StreamPublisher(core::RedisStreamsPublishSpec spec, redis::Target target,
                                 Environment& environment)
    : spec_(std::move(spec)),
      environment_(environment),
      calls_([this] { wake_.signal(); }, handlers::kPublisherPatience),
      target_(bounded(std::move(target))),
      silence_(target_.answer_timeout),
      length_(spec_.max_length ? std::to_string(*spec_.max_length) : std::string()),
      owner_(target_, spec_.stream, *environment.random) {
  thread_ = std::thread([this] { work(); });
}

StreamPublisher::~StreamPublisher() {
  calls_.close();
  wake_.signal();
  {
    const system::MutexLock lock(mutex_);
    // The thread may be waiting for a server that accepts no connection.
    (void)changed_.wait_for(mutex_, kFarewellAndOut,
                            [this]() SEMEL_REQUIRES(mutex_) { return left_; });
  }
  leave_.signal();
  thread_.join();
}

void StreamPublisher::begin(const Message& message, const Attempt& attempt, Completion completion) {
  auto call = std::make_unique<Call>(message, attempt, std::move(completion), now());
  call->fields = core::headers_with_key(message);
  if (const auto flaw = core::redis_entry_flaw(call->fields, spec_.payload)) {
    return calls_.answer(std::move(call), cannot_be_an_entry(*flaw).verdict);
  }
  const TimePoint deadline = call->begun + spec_.timeout;
  calls_.begin(std::move(call), deadline);
  wake_.signal();
}

void StreamPublisher::work() noexcept {
  system::block_signals();
  while (take_news()) {
    take_late();
    if (connection_) {
      serve();
    } else if (!waiting_.empty() && now() >= not_before_) {
      connect();
    } else {
      const auto pause = std::chrono::ceil<milliseconds>(not_before_ - now());
      wait_for_something(waiting_.empty() ? until_late() : std::min(pause, until_late()));
    }
  }
  say_farewell();
  const system::MutexLock lock(mutex_);
  left_ = true;
  changed_.notify_all();
}

// False: the handler must end.
bool StreamPublisher::take_news() {
  const auto news = calls_.take_news();
  waiting_.insert(waiting_.end(), news.begun.begin(), news.begun.end());
  for (const Ticket ticket : news.stopped) give_up(ticket, true);
  return !news.closing;
}

void StreamPublisher::take_late() {
  for (const Ticket ticket : calls_.take_late(now())) give_up(ticket, false);
  // A call that is late while nothing can be sent is never sent.
  while (!waiting_.empty() && calls_.find(waiting_.front()) == nullptr) waiting_.pop_front();
}

milliseconds StreamPublisher::until_late() const {
  constexpr milliseconds kLongest{60'000};
  const TimePoint next = calls_.next_deadline();
  if (next == handlers::InFlightTable::kNever) return kLongest;
  return std::clamp(std::chrono::ceil<milliseconds>(next - now()), milliseconds(0), kLongest);
}

void StreamPublisher::give_up(Ticket ticket, bool stopped) {
  const Call* const call = calls_.find(ticket);
  if (call == nullptr) return;  // the call has already ended
  // A stop comes at the same time as the timeout, and may be seen first.
  stopped = stopped && call->took(now()) < spec_.timeout;
  calls_.end(ticket, no_answer_to({call->took(now()), call->sent, stopped, last_trouble_}));
}

}  // namespace semel::redis_streams
