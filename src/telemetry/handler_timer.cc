#include "telemetry/handler_timer.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace semel::telemetry {

namespace {

using std::chrono::steady_clock;

// Observes a call once: with its verdict, or as failed where it ends without one.
class CallTimer {
 public:
  explicit CallTimer(HandlerDurations& durations, std::size_t messages = 1) noexcept
      : durations_(durations), messages_(messages) {}
  ~CallTimer() {
    for (std::size_t i = observed_; i < messages_; ++i) {
      durations_.observe(HandlerDurations::kFailed, steady_clock::now() - began_);
    }
  }
  CallTimer(const CallTimer&) = delete;
  CallTimer& operator=(const CallTimer&) = delete;

  void ended(const Verdict& verdict) noexcept {
    const auto kind = static_cast<std::size_t>(verdict.kind);
    durations_.observe(std::min(kind, HandlerDurations::kFailed), steady_clock::now() - began_);
    ++observed_;
  }

 private:
  HandlerDurations& durations_;
  const std::size_t messages_;
  std::size_t observed_ = 0;
  const steady_clock::time_point began_ = steady_clock::now();
};

struct Timed {
  HandlerDurations& durations;

  Handler operator()(PlainHandler handler) const {
    return PlainHandler([handler = std::move(handler), &all = durations](const Message& message,
                                                                         const Attempt& attempt) {
      CallTimer timer(all);
      Verdict verdict = handler(message, attempt);
      timer.ended(verdict);
      return verdict;
    });
  }
  Handler operator()(TransactionalHandler handler) const {
    return TransactionalHandler([handler = std::move(handler), &all = durations](
                                    const Message& message, Transaction& transaction) {
      CallTimer timer(all);
      Verdict verdict = handler(message, transaction);
      timer.ended(verdict);
      return verdict;
    });
  }
  Handler operator()(BatchHandler handler) const {
    return BatchHandler(
        [handler = std::move(handler), &all = durations](std::span<const Message* const> messages,
                                                         std::span<const Attempt> attempts) {
          CallTimer timer(all, messages.size());
          std::vector<Verdict> verdicts = handler(messages, attempts);
          if (verdicts.size() != messages.size()) return verdicts;
          for (const Verdict& verdict : verdicts) timer.ended(verdict);
          return verdicts;
        });
  }
  Handler operator()(AsyncHandler handler) const {
    return AsyncHandler([handler = std::move(handler), &all = durations](
                            const Message& message, const Attempt& attempt, Completion completion) {
      // A std::function must be copyable, and its copies are of one call.
      struct Open {
        explicit Open(HandlerDurations& durations, Completion c)
            : timer(durations), completion(std::move(c)) {}
        CallTimer timer;
        Completion completion;
      };
      auto open = std::make_shared<Open>(all, std::move(completion));
      handler(message, attempt, Completion([open](std::optional<Verdict> verdict) mutable {
                // Moved out, so that the timer and an unanswered completion end here.
                const auto call = std::move(open);
                if (!verdict) return;
                call->timer.ended(*verdict);
                call->completion(*std::move(verdict));
              }));
    });
  }
};

}  // namespace

Handler timed(Handler handler, HandlerDurations& durations) {
  return std::visit(Timed{durations}, std::move(handler));
}

}  // namespace semel::telemetry
