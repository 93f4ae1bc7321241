#include "handlers/rabbitmq/publisher.h"

#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <utility>

#include "core/thrown.h"

namespace semel::rabbitmq {

using std::chrono::milliseconds;

namespace {

// For the confirms of what is still on its way when the handler ends, and the way out.
constexpr milliseconds kFarewellAndOut{3'000};
// A write that takes longer waits for a broker that does not read.
constexpr milliseconds kStuck{1'000};
constexpr core::Breaker::Options kPatience{1, milliseconds(1'000), milliseconds(10'000)};

}  // namespace

RabbitmqPublisher::RabbitmqPublisher(core::RabbitmqPublishSpec spec, Environment& environment)
    : spec_(std::move(spec)), environment_(environment), breaker_(kPatience) {
  thread_ = std::thread([this] { work(); });
}

RabbitmqPublisher::~RabbitmqPublisher() {
  {
    const system::MutexLock lock(mutex_);
    ending_ = true;
    wake_.signal();
    // What it waits for may be a broker that does not read.
    if (!changed_.wait_for(mutex_, kFarewellAndOut,
                           [this]() SEMEL_REQUIRES(mutex_) { return left_; }))
      cut();
  }
  thread_.join();
}

void RabbitmqPublisher::begin(const Message& message, const Attempt& attempt,
                              Completion completion) {
  auto call = std::make_unique<Call>(message, attempt, std::move(completion));
  try {
    call->outgoing = outgoing_of(message, spec_);
  } catch (const std::exception& thrown) {
    return call->completion(core::answer_to(thrown));
  }
  if (const auto flaw = outgoing_flaw(call->outgoing)) {
    return call->completion(cannot_be_carried(*flaw).verdict);
  }
  call->begun = now();
  {
    const system::MutexLock lock(mutex_);
    call->ticket = breaker_.begin();
    begun_.push_back(std::move(call));
  }
  wake_.signal();
}

void RabbitmqPublisher::stop(Ticket call) noexcept {
  {
    const system::MutexLock lock(mutex_);
    stopped_.push_back(call);
    if (sending_ && now() - *sending_ > kStuck) cut();
  }
  wake_.signal();
}

void RabbitmqPublisher::cut() {
  if (cutter_.valid()) ::shutdown(cutter_.get(), SHUT_RDWR);
}

void RabbitmqPublisher::work() noexcept {
  // Signals are for the threads that expect them; a broken connection is an error, no SIGPIPE.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  while (take_begun()) {
    take_late();
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

// False: it is to end.
bool RabbitmqPublisher::take_begun() {
  std::vector<std::unique_ptr<Call>> begun;
  std::vector<Ticket> stopped;
  bool ending = false;
  {
    const system::MutexLock lock(mutex_);
    begun.swap(begun_);
    stopped.swap(stopped_);
    ending = ending_;
  }
  for (auto& call : begun) {
    Call& taken = *call;
    waiting_.push_back(taken.ticket);
    calls_.emplace(taken.ticket, std::move(call));
    // A stop that has fired before comes with the next round.
    taken.on_stop.emplace(taken.attempt.stop, Stop{this, taken.ticket});
  }
  for (const Ticket ticket : stopped) give_up(ticket);
  return !ending;
}

void RabbitmqPublisher::take_late() {
  const TimePoint begun_before = now() - spec_.timeout;
  while (!calls_.empty() && calls_.begin()->second->begun <= begun_before) {
    give_up(calls_.begin()->first);
  }
}

milliseconds RabbitmqPublisher::until_late() const {
  constexpr milliseconds kLongest{60'000};
  if (calls_.empty()) return kLongest;
  const auto left = calls_.begin()->second->begun + spec_.timeout - now();
  return std::clamp(std::chrono::ceil<milliseconds>(left), milliseconds(0), kLongest);
}

void RabbitmqPublisher::give_up(Ticket ticket) {
  const auto found = calls_.find(ticket);
  if (found == calls_.end()) return;  // it had ended by itself
  const Call& call = *found->second;
  const auto took = std::chrono::duration_cast<milliseconds>(now() - call.begun);
  end(ticket, no_answer(took, call.number != 0, blocked_));
}

void RabbitmqPublisher::end(Ticket ticket, Judged judged) {
  auto node = calls_.extract(ticket);
  if (node.empty()) return;
  std::unique_ptr<Call> call = std::move(node.mapped());
  call->on_stop.reset();
  core::GateNews news;
  {
    const system::MutexLock lock(mutex_);
    news = core::GateNews::of(breaker_, ticket, judged.broker);
  }
  news.tell(call->attempt.gate, judged.why);
  Completion completion = std::move(call->completion);
  // Message and attempt, which it borrows from, may go with the answer.
  call.reset();
  completion(std::move(judged.verdict));
}

}  // namespace semel::rabbitmq
