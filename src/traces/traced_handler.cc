#include "traces/traced_handler.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace semel::traces {

namespace {

using std::chrono::steady_clock;

constexpr std::array<const char*, 4> kVerdicts{"done", "retry", "dead", "discard"};
constexpr const char* kFailed = "failed";
static_assert(static_cast<std::size_t>(Verdict::Kind::kDiscard) + 1 == kVerdicts.size());

struct About {
  std::string consumer;
  std::string kind;
  Tracer& tracer;
};

// One call for one traced message, which ends once: with its verdict, or as failed if it is
// destroyed without one. Thread-safe, because an answer may arrive while the handler throws.
class CallSpan {
 public:
  CallSpan(std::shared_ptr<const About> about, std::shared_ptr<const DeliverySpan> parent,
           int attempt) noexcept
      : about_(std::move(about)), parent_(std::move(parent)), attempt_(attempt) {}
  ~CallSpan() { end(kFailed, true); }
  CallSpan(const CallSpan&) = delete;
  CallSpan& operator=(const CallSpan&) = delete;

  void ended(const Verdict& verdict) noexcept {
    const auto kind = static_cast<std::size_t>(verdict.kind());
    const bool well =
        verdict.kind() == Verdict::Kind::kDone || verdict.kind() == Verdict::Kind::kDiscard;
    end(kind < kVerdicts.size() ? kVerdicts[kind] : kFailed, !well);
  }
  void failed() noexcept { end(kFailed, true); }

 private:
  void end(const char* verdict, bool failed) noexcept {
    if (over_.exchange(true)) return;
    try {
      Span span;
      span.name = "handler " + about_->kind;
      span.attributes.push_back({"semel.consumer", about_->consumer});
      span.attributes.push_back({"semel.verdict", std::string(verdict)});
      span.attributes.push_back({"semel.attempt", std::int64_t{attempt_}});
      if (failed) span.error = verdict;
      about_->tracer.add_child(*parent_, std::move(span), steady_clock::now() - began_);
    } catch (...) {
      // If memory runs out, the span is lost.
    }
  }

  const std::shared_ptr<const About> about_;
  const std::shared_ptr<const DeliverySpan> parent_;
  const int attempt_;
  const steady_clock::time_point began_ = steady_clock::now();
  std::atomic<bool> over_{false};
};

struct Traced {
  std::shared_ptr<const About> about;

  Handler operator()(PlainHandler handler) const {
    return PlainHandler([handler = std::move(handler), about = about](const Message& message,
                                                                      const Attempt& attempt) {
      if (message.span() == nullptr) return handler(message, attempt);
      CallSpan call(about, message.span(), attempt.number);
      Verdict verdict = handler(message, attempt);
      call.ended(verdict);
      return verdict;
    });
  }
  Handler operator()(TransactionalHandler handler) const {
    return TransactionalHandler([handler = std::move(handler), about = about](
                                    const Message& message, Transaction& transaction) {
      if (message.span() == nullptr) return handler(message, transaction);
      CallSpan call(about, message.span(), transaction.attempt().number);
      Verdict verdict = handler(message, transaction);
      call.ended(verdict);
      return verdict;
    });
  }
  Handler operator()(BatchHandler handler) const {
    return BatchHandler(
        [handler = std::move(handler), about = about](std::span<const Message* const> messages,
                                                      std::span<const Attempt> attempts) {
          std::vector<std::unique_ptr<CallSpan>> calls(messages.size());
          for (std::size_t i = 0; i < messages.size(); ++i) {
            if (messages[i]->span() == nullptr) continue;
            calls[i] = std::make_unique<CallSpan>(about, messages[i]->span(), attempts[i].number);
          }
          std::vector<Verdict> verdicts = handler(messages, attempts);
          if (verdicts.size() != messages.size()) return verdicts;
          for (std::size_t i = 0; i < calls.size(); ++i) {
            if (calls[i] != nullptr) calls[i]->ended(verdicts[i]);
          }
          return verdicts;
        });
  }
  Handler operator()(AsyncHandler handler) const {
    return AsyncHandler([handler = std::move(handler), about = about](
                            const Message& message, const Attempt& attempt, Completion completion) {
      if (message.span() == nullptr) return handler(message, attempt, std::move(completion));
      // A std::function must be copyable, and its copies are of one call.
      struct OpenCall {
        OpenCall(Completion c, std::shared_ptr<const About> a,
                 std::shared_ptr<const DeliverySpan> parent, int number)
            : completion(std::move(c)), span(std::move(a), std::move(parent), number) {}
        Completion completion;
        CallSpan span;  // ends first: the completion's receiver may end the run
      };
      auto open =
          std::make_shared<OpenCall>(std::move(completion), about, message.span(), attempt.number);
      Completion traced_completion([open](std::optional<Verdict> verdict) mutable {
        const auto call = std::move(open);
        if (!verdict) return;
        call->span.ended(*verdict);
        call->completion(*std::move(verdict));
      });
      try {
        handler(message, attempt, std::move(traced_completion));
      } catch (...) {
        // The exception is the answer: a later one does not count.
        open->span.failed();
        throw;
      }
    });
  }
};

}  // namespace

Handler traced(Handler handler, const std::string& consumer, const std::string& kind,
               Tracer& tracer) {
  return std::visit(Traced{std::make_shared<const About>(About{consumer, kind, tracer})},
                    std::move(handler));
}

}  // namespace semel::traces
