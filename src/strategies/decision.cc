#include "strategies/decision.h"

#include <fmt/format.h>

#include <exception>
#include <utility>
#include <variant>

#include <semel/environment.h>
#include <semel/reason.h>

namespace semel::strategies {

namespace {

// What people read beside a reason; a handler's text may be of any length.
constexpr std::size_t kLongestError = 2'000;

std::string shown(std::string_view text) {
  return std::string(text.substr(0, std::min(text.size(), kLongestError)));
}

std::string first_line(std::string_view text) { return shown(text.substr(0, text.find('\n'))); }

Decision dead_for(std::string reason, std::string error) {
  Decision decision;
  decision.kind = Decision::Kind::kDead;
  decision.reason = std::move(reason);
  decision.error = std::move(error);
  return decision;
}

// `retry_reason`, `dead_reason`: what a verdict to that end is put down to.
Decision decide_verdict(const Context& context, Verdict verdict, std::string_view retry_reason,
                        std::string_view dead_reason) {
  Decision decision;
  switch (verdict.kind) {
    case Verdict::Kind::kDone:
      if (verdict.result.size() > context.limits.result) {
        return dead_for(std::string(reason::kTooLarge),
                        fmt::format("the handler's result has {} bytes, the limit is {}",
                                    verdict.result.size(), context.limits.result));
      }
      decision.result = std::move(verdict.result);
      return decision;
    case Verdict::Kind::kDiscard:
      decision.kind = Decision::Kind::kDiscarded;
      decision.error = first_line(verdict.reason);
      return decision;
    case Verdict::Kind::kDead:
      return dead_for(context.dead_reason.empty() ? std::string(dead_reason) : context.dead_reason,
                      first_line(verdict.reason));
    case Verdict::Kind::kRetry:
      decision = failed(std::string(retry_reason), first_line(verdict.reason));
      if (verdict.after) decision.after = std::max(*verdict.after, std::chrono::milliseconds{0});
      decision.counted = verdict.counted;
      return decision;
  }
  return failed(std::string(reason::kHandlerNative),
                fmt::format("the handler returned a verdict of kind {}, which there is not",
                            static_cast<int>(verdict.kind)));
}

const char* text_of(const std::exception& thrown) noexcept {
  const char* text = thrown.what();
  return text == nullptr ? "an exception without a text" : text;
}

// A failure after the stop token fired is put down to what fired it.
std::string_view native_reason(const Attempt& attempt) {
  return attempt.stop.stop_requested() ? reason::kHandlerTimeout : reason::kHandlerNative;
}

template <class Call>
Decision decide_call(const Context& context, const Attempt& attempt, Call&& call) {
  SEMEL_FAILPOINT(*context.environment, failpoint::kHandlerBefore);
  Decision decision;
  try {
    Verdict verdict = call();
    decision =
        decide_verdict(context, std::move(verdict), native_reason(attempt), reason::kHandlerNative);
  } catch (const PayloadInvalid& thrown) {
    decision = dead_for(std::string(reason::kPayloadInvalid), shown(text_of(thrown)));
  } catch (const StatementRefused& thrown) {
    decision = failed(reason::sql_reason("refused"), shown(text_of(thrown)));
  } catch (const StatementFailed& thrown) {
    decision = failed(reason::sql_reason(thrown.sql_class()), shown(text_of(thrown)));
  } catch (const BatchBroken&) {
    // The pipeline knows: what is decided here is not looked at.
    decision = failed(std::string(reason::kStoreUnavailable), {});
  } catch (const std::exception& thrown) {
    decision = failed(std::string(native_reason(attempt)), shown(text_of(thrown)));
  } catch (...) {
    decision = failed(std::string(native_reason(attempt)),
                      "the handler threw something that is no std::exception");
  }
  SEMEL_FAILPOINT(*context.environment, failpoint::kHandlerAfter);
  return decision;
}

}  // namespace

Decision failed(std::string reason, std::string error) {
  Decision decision;
  decision.kind = Decision::Kind::kFailed;
  decision.reason = std::move(reason);
  decision.error = std::move(error);
  return decision;
}

void forgive_if_cancelled(Decision& decision, const Keeper::Watch* watch) {
  if (decision.kind == Decision::Kind::kFailed && watch != nullptr && watch->cancelled()) {
    decision.counted = false;
  }
}

Decision call_handler(const Context& context, const Message& message, const Attempt& attempt) {
  const auto& handler = std::get<PlainHandler>(context.handler);
  return decide_call(context, attempt, [&] { return handler(message, attempt); });
}

Decision call_handler(const Context& context, const Message& message, Transaction& transaction) {
  const auto& handler = std::get<TransactionalHandler>(context.handler);
  return decide_call(context, transaction.attempt(), [&] { return handler(message, transaction); });
}

Decision decide_miss(const Context& context, const Otherwise& otherwise,
                     std::string_view sql_class) {
  if (otherwise.duplicate) {
    Decision decision;
    decision.kind = Decision::Kind::kDuplicate;
    return decision;
  }
  const std::string why = reason::sql_reason(sql_class);
  return decide_verdict(context, otherwise.verdict, why, why);
}

}  // namespace semel::strategies
