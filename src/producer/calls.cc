// Tries by a handler that publishes.
#include <algorithm>
#include <deque>
#include <stop_token>
#include <utility>

#include "core/key_encoding.h"
#include "producer/sender.h"
#include "system/mutex.h"

namespace semel::producer {

using std::chrono::milliseconds;

namespace {

// Waits for answers of calls that were told to stop.
constexpr milliseconds kLastWord{1'000};

Message message_of(const OutgoingMessage& held) {
  Message::Parts parts;
  parts.key = {*held.key, core::encode_key(ConsumerNumber{}, *held.key)};
  parts.payload = held.payload;
  parts.headers = held.headers;
  parts.content_type = held.content_type;
  parts.type = held.type;
  return Message(std::move(parts));
}

TryEnd no_answer() {
  TryEnd end;
  end.kind = TryEnd::Kind::kAgain;
  end.unknown = true;
  end.error = {ErrorKind::kInDoubt, {}, "no answer came within the time limit", {}};
  return end;
}

TryEnd not_begun() {
  TryEnd end;
  end.kind = TryEnd::Kind::kAgain;
  end.error = {ErrorKind::kUnavailable,
               {},
               "the time limit came before its turn",
               "give ProducerOptions::time_limit more"};
  return end;
}

// Calls and all data that they borrow. It lives until the last call is answered, even if the result
// is no longer waited for.
class CallRound : public std::enable_shared_from_this<CallRound> {
 public:
  CallRound(std::span<const OutgoingMessage* const> messages, int number) {
    for (const OutgoingMessage* message : messages) {
      Call& call = calls_.emplace_back(message_of(*message));
      call.attempt.number = number;
      call.attempt.stop = stop_.get_token();
    }
  }

  std::vector<TryEnd> run(const AsyncHandler& handler, std::size_t most, Deadline deadline)
      SEMEL_EXCLUDES(mutex_) {
    for (Call& call : calls_) {
      if (!wait_for_room(most, deadline)) break;
      handler(call.message, call.attempt,
              Completion([self = shared_from_this(), &call](std::optional<Verdict> verdict) {
                self->take(call, std::move(verdict));
              }));
    }
    wait_for_all(deadline);
    const system::MutexLock lock(mutex_);
    std::vector<TryEnd> ends;
    for (Call& call : calls_) {
      ends.push_back(!call.begun ? not_begun()
                     : !call.end ? no_answer()
                                 : *std::exchange(call.end, std::nullopt));
    }
    return ends;
  }

 private:
  struct Call {
    explicit Call(Message m) : message(std::move(m)) {}
    Message message;
    Attempt attempt;
    bool begun = false;
    std::optional<TryEnd> end;
  };

  // Room for the next call, which is begun then.
  bool wait_for_room(std::size_t most, Deadline deadline) SEMEL_EXCLUDES(mutex_) {
    system::RelockableLock lock(mutex_);
    if (!answered_.wait_until(mutex_, deadline,
                              [&]() SEMEL_REQUIRES(mutex_) { return running_ < most; }))
      return false;
    ++running_;
    calls_[begun_++].begun = true;
    return true;
  }

  void wait_for_all(Deadline deadline) SEMEL_EXCLUDES(mutex_) {
    system::RelockableLock lock(mutex_);
    const auto all = [this]() SEMEL_REQUIRES(mutex_) { return running_ == 0; };
    if (answered_.wait_until(mutex_, deadline, all)) return;
    lock.unlock();
    stop_.request_stop();
    lock.lock();
    answered_.wait_for(mutex_, kLastWord, all);
  }

  void take(Call& call, std::optional<Verdict> verdict) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    call.end = verdict ? end_of(*verdict) : no_answer();
    --running_;
    answered_.notify_all();
  }

  std::stop_source stop_;
  std::deque<Call> calls_;  // each stays where it is
  system::Mutex mutex_;
  system::CondVar answered_;
  std::size_t running_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::size_t begun_ SEMEL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

Try try_by(AsyncHandler handler, std::size_t most) {
  return [handler = std::move(handler), most](std::span<const OutgoingMessage* const> messages,
                                              int number, Deadline deadline) {
    return std::make_shared<CallRound>(messages, number)->run(handler, most, deadline);
  };
}

}  // namespace semel::producer
