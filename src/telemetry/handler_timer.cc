#include "telemetry/handler_timer.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

namespace semel::telemetry {

namespace {

using std::chrono::steady_clock;

static_assert(static_cast<std::size_t>(Verdict::Kind::kDiscard) + 1 == HandlerDurations::kFailed);

// Observes each message of a call once: with its verdict, or as failed where it ends without one.
// Thread-safe, because an answer may come while the handler throws.
class CallTimer {
 public:
  explicit CallTimer(std::shared_ptr<HandlerDurations> durations, std::size_t messages = 1) noexcept
      : durations_(std::move(durations)), left_(messages) {}
  ~CallTimer() { failed(); }
  CallTimer(const CallTimer&) = delete;
  CallTimer& operator=(const CallTimer&) = delete;

  void ended(const Verdict& verdict) noexcept {
    if (take_one()) observe(static_cast<std::size_t>(verdict.kind()));
  }
  void failed() noexcept {
    while (take_one()) observe(HandlerDurations::kFailed);
  }

 private:
  bool take_one() noexcept {
    std::size_t left = left_.load();
    while (left > 0 && !left_.compare_exchange_weak(left, left - 1)) {
    }
    return left > 0;
  }
  void observe(std::size_t outcome) noexcept {
    durations_->observe(std::min(outcome, HandlerDurations::kFailed), steady_clock::now() - began_);
  }

  const std::shared_ptr<HandlerDurations> durations_;
  std::atomic<std::size_t> left_;
  const steady_clock::time_point began_ = steady_clock::now();
};

struct Timed {
  const std::shared_ptr<HandlerDurations>& durations;

  Handler operator()(PlainHandler handler) const {
    return PlainHandler([handler = std::move(handler), all = durations](const Message& message,
                                                                        const Attempt& attempt) {
      CallTimer timer(all);
      Verdict verdict = handler(message, attempt);
      timer.ended(verdict);
      return verdict;
    });
  }
  Handler operator()(TransactionalHandler handler) const {
    return TransactionalHandler([handler = std::move(handler), all = durations](
                                    const Message& message, Transaction& transaction) {
      CallTimer timer(all);
      Verdict verdict = handler(message, transaction);
      timer.ended(verdict);
      return verdict;
    });
  }
  Handler operator()(BatchHandler handler) const {
    return BatchHandler(
        [handler = std::move(handler), all = durations](std::span<const Message* const> messages,
                                                        std::span<const Attempt> attempts) {
          CallTimer timer(all, messages.size());
          std::vector<Verdict> verdicts = handler(messages, attempts);
          if (verdicts.size() != messages.size()) return verdicts;
          for (const Verdict& verdict : verdicts) timer.ended(verdict);
          return verdicts;
        });
  }
  Handler operator()(AsyncHandler handler) const {
    return AsyncHandler([handler = std::move(handler), all = durations](
                            const Message& message, const Attempt& attempt, Completion completion) {
      // A std::function must be copyable, and its copies belong to one call.
      struct Open {
        Open(std::shared_ptr<HandlerDurations> durations, Completion c)
            : completion(std::move(c)), timer(std::move(durations)) {}
        Completion completion;
        CallTimer timer;  // destroyed first: the completion's receiver may end the run
      };
      auto open = std::make_shared<Open>(all, std::move(completion));
      Completion timed_completion([open](std::optional<Verdict> verdict) mutable {
        const auto call = std::move(open);
        if (!verdict) return;
        call->timer.ended(*verdict);
        call->completion(*std::move(verdict));
      });
      try {
        handler(message, attempt, std::move(timed_completion));
      } catch (...) {
        // The exception is the answer: a later one does not count.
        open->timer.failed();
        throw;
      }
    });
  }
};

}  // namespace

Handler timed(Handler handler, const std::shared_ptr<HandlerDurations>& durations) {
  return std::visit(Timed{durations}, std::move(handler));
}

}  // namespace semel::telemetry
