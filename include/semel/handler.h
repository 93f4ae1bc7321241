// Handler: the user's work.
//
// A handler may throw. An exception is a failed attempt: the message is retried by the policy and
// in the end becomes a dead letter; PayloadInvalid makes it one at once. Handlers are called from
// several threads at a time, each with another key.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>
#include <variant>

#include <semel/attempt.h>
#include <semel/message.h>
#include <semel/transaction.h>
#include <semel/verdict.h>

namespace semel {

// Its effect lives anywhere.
using PlainHandler = std::function<Verdict(const Message&, const Attempt&)>;
// Its effect is the statements it gives the transaction.
using TransactionalHandler = std::function<Verdict(const Message&, Transaction&)>;

using Handler = std::variant<PlainHandler, TransactionalHandler>;

// Makes a Handler of any callable taking (Message), (Message, Attempt) or (Message, Transaction).
template <class F>
Handler make_handler(F f) {
  if constexpr (std::is_invocable_r_v<Verdict, F&, const Message&, Transaction&>) {
    return TransactionalHandler(std::move(f));
  } else if constexpr (std::is_invocable_r_v<Verdict, F&, const Message&, const Attempt&>) {
    return PlainHandler(std::move(f));
  } else {
    static_assert(std::is_invocable_r_v<Verdict, F&, const Message&>,
                  "a handler takes (const Message&), (const Message&, const Attempt&) or "
                  "(const Message&, Transaction&) and returns a Verdict");
    return PlainHandler(
        [f = std::move(f)](const Message& m, const Attempt&) mutable { return f(m); });
  }
}

}  // namespace semel
