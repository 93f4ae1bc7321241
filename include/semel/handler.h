// Handler: the user's work.
//
// A handler may throw. An exception is a failed attempt: the message is retried by the policy and
// in the end becomes a dead letter. PayloadInvalid makes it one without a retry, and so does a
// statement for which a table, a column or a right is missing; three such messages in a row pause
// the consumer. Handlers are
// called from several threads at a time, each with another key.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <semel/attempt.h>
#include <semel/message.h>
#include <semel/transaction.h>
#include <semel/verdict.h>

namespace semel {

// Its effect is outside of the store, or in memory.
using PlainHandler = std::function<Verdict(const Message&, const Attempt&)>;
// Its effect is the statements that it gives the transaction.
using TransactionalHandler = std::function<Verdict(const Message&, Transaction&)>;

// Answers a call that is not over when the handler returns. Call it once, from any thread, also
// before the handler has returned; Message and Attempt live until then. A completion that is
// destroyed unanswered answers retry, with the outcome unknown. Move-only; one thread at a time.
class Completion {
 public:
  // nullopt: the completion was destroyed unanswered.
  using Tell = std::function<void(std::optional<Verdict>)>;
  explicit Completion(Tell tell) noexcept : tell_(std::move(tell)) {}
  Completion(Completion&& other) noexcept : tell_(std::exchange(other.tell_, nullptr)) {}
  Completion& operator=(Completion&& other) noexcept;
  ~Completion() { drop(); }

  // Throws std::logic_error where it was answered, or moved from, before.
  void operator()(Verdict verdict);
  explicit operator bool() const noexcept { return tell_ != nullptr; }

 private:
  void drop() noexcept;
  Tell tell_;
};

// Begins the work and returns; hundreds of messages may be in flight. An exception counts as the
// answer if none was given. The effect is outside of the store's transaction.
using AsyncHandler = std::function<void(const Message&, const Attempt&, Completion)>;

// Many messages in one call, and a verdict for each, in the same order. An exception, or another
// number of verdicts, is a failed attempt of each of them. `attempts` has one for each message;
// their stop tokens fire together.
using BatchHandler =
    std::function<std::vector<Verdict>(std::span<const Message* const>, std::span<const Attempt>)>;

using Handler = std::variant<PlainHandler, TransactionalHandler, AsyncHandler, BatchHandler>;

// The second part of a two-part handler: a handler of another kind calls outside first, and the
// result that it returned with done() is `answer` here. These statements commit together with the
// record, so they happen once. The call happens at least once: after a crash between the two, or
// where this returns retry, it is made again, under the same key.
using ApplyHandler = std::function<Verdict(const Message&, const Bytes& answer, Transaction&)>;

// Makes a Handler of any callable taking (Message), (Message, Attempt), (Message, Transaction),
// (Message, Attempt, Completion) or (span of messages, span of attempts).
template <class F>
[[nodiscard]] Handler make_handler(F f) {
  if constexpr (std::is_invocable_r_v<Verdict, F&, const Message&, Transaction&>) {
    return TransactionalHandler(std::move(f));
  } else if constexpr (std::is_invocable_v<F&, const Message&, const Attempt&, Completion>) {
    return AsyncHandler(std::move(f));
  } else if constexpr (std::is_invocable_r_v<std::vector<Verdict>, F&,
                                             std::span<const Message* const>,
                                             std::span<const Attempt>>) {
    return BatchHandler(std::move(f));
  } else if constexpr (std::is_invocable_r_v<Verdict, F&, const Message&, const Attempt&>) {
    return PlainHandler(std::move(f));
  } else {
    static_assert(std::is_invocable_r_v<Verdict, F&, const Message&>,
                  "a handler takes (const Message&), (const Message&, const Attempt&) or "
                  "(const Message&, Transaction&) and returns a Verdict, or takes (const Message&, "
                  "const Attempt&, Completion), or spans of messages and attempts and returns a "
                  "Verdict for each");
    return PlainHandler(
        [f = std::move(f)](const Message& m, const Attempt&) mutable { return f(m); });
  }
}

}  // namespace semel
