#include "strategies/decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <variant>

#include <semel/environment.h>
#include <semel/reason.h>

#include "core/failpoints.h"
#include "core/transaction_recorder.h"
#include "core/unkept_payload.h"
#include "core/verdict_details.h"

namespace semel::strategies {

namespace {

// The error is shown to people next to a reason; a handler's text may be of any length.
constexpr std::size_t kLongestError = 2'000;

std::string shown(std::string_view text) {
  return std::string(text.substr(0, std::min(text.size(), kLongestError)));
}

std::string first_line(std::string_view text) { return shown(text.substr(0, text.find('\n'))); }

std::optional<Decision> unknown_destination(const Context& context, const Verdict::Done& done) {
  for (const Publication& one : done.publications) {
    if (context.destinations.contains(one.destination)) continue;
    std::string known;
    for (const auto& [name, number] : context.destinations) known += " " + name;
    Decision decision =
        failed(std::string(reason::kHandlerNative),
               fmt::format("it publishes to \"{}\", which is no destination: there {}{}",
                           one.destination, known.empty() ? "is none" : "are", known));
    decision.unknown = true;  // as where the result is too large
    return decision;
  }
  return std::nullopt;
}

// Makes the decision from the details of each kind of verdict.
struct VerdictReader {
  const Context& context;
  std::string_view retry_reason;
  std::string_view dead_reason;

  Decision operator()(Verdict::Done&& done) const {
    if (done.result.size() > context.limits.result) {
      Decision decision = dead_for(std::string(reason::kTooLarge),
                                   fmt::format("the handler's result has {} bytes, the limit is {}",
                                               done.result.size(), context.limits.result));
      decision.unknown = true;  // in a transaction the effect is undone; outside it has happened
      return decision;
    }
    if (auto unknown = unknown_destination(context, done)) return *std::move(unknown);
    Decision decision;
    decision.result = std::move(done.result);
    decision.publications = std::move(done.publications);
    return decision;
  }
  Decision operator()(Verdict::Discard&& discard) const {
    Decision decision;
    decision.kind = Decision::Kind::kDiscarded;
    decision.error = first_line(discard.reason);
    return decision;
  }
  Decision operator()(Verdict::Dead&& dead) const {
    Decision decision =
        dead_for(context.dead_reason.empty() ? either(dead.code, dead_reason) : context.dead_reason,
                 first_line(dead.reason));
    decision.unknown = dead.unknown;
    return decision;
  }
  Decision operator()(Verdict::Retry&& retry) const {
    Decision decision = failed(either(retry.code, retry_reason), first_line(retry.reason));
    if (retry.after) decision.after = std::max(*retry.after, std::chrono::milliseconds{0});
    decision.asked = retry.asked;
    decision.counted = retry.counted;
    decision.unknown = retry.unknown;
    return decision;
  }

 private:
  static std::string either(const std::string& code, std::string_view other) {
    return code.empty() ? std::string(other) : code;
  }
};

// `retry_reason`, `dead_reason`: the reason if a verdict of that kind names none.
Decision decide_verdict(const Context& context, Verdict&& verdict, std::string_view retry_reason,
                        std::string_view dead_reason) {
  return std::visit(VerdictReader{context, retry_reason, dead_reason},
                    std::move(verdict).details());
}

const char* text_of(const std::exception& thrown) noexcept {
  const char* text = thrown.what();
  return text == nullptr ? "an exception without a text" : text;
}

// A failure after the stop token fired is attributed to the cause of the stop.
std::string_view native_reason(const Attempt& attempt) {
  return attempt.stop.stop_requested() ? reason::kHandlerTimeout : reason::kHandlerNative;
}

Decision decide_native(const Context& context, const Attempt& attempt, Verdict&& verdict) {
  return decide_verdict(context, std::move(verdict), native_reason(attempt),
                        reason::kHandlerNative);
}

template <class Call>
Decision decide_call(const Context& context, const Attempt& attempt, Call&& call) {
  failpoint::hit(*context.environment, failpoint::kHandlerBefore);
  Decision decision;
  try {
    decision = decide_native(context, attempt, call());
  } catch (...) {
    decision = decide_thrown(attempt);
  }
  failpoint::hit(*context.environment, failpoint::kHandlerAfter);
  return decision;
}

Decision decide_caught(const Attempt& attempt) {
  try {
    throw;
  } catch (const PayloadInvalid& thrown) {
    return dead_for(std::string(reason::kPayloadInvalid), shown(text_of(thrown)));
  } catch (const StatementRefused& thrown) {
    return failed(reason::sql_reason("refused"), shown(text_of(thrown)));
  } catch (const StatementFailed& thrown) {
    return failed_statement(reason::sql_reason(thrown.sql_class()), thrown.error());
  } catch (const BatchBroken&) {
    // The pipeline knows the cause: this decision is not used.
    return failed(std::string(reason::kStoreUnavailable), {});
  } catch (const std::exception& thrown) {
    return failed(std::string(native_reason(attempt)), shown(text_of(thrown)));
  } catch (...) {
    return failed(std::string(native_reason(attempt)),
                  "the handler threw something that is no std::exception");
  }
}

}  // namespace

Decision failed(std::string reason, std::string error) {
  Decision decision;
  decision.kind = Decision::Kind::kFailed;
  decision.reason = std::move(reason);
  decision.error = std::move(error);
  return decision;
}

Decision dead_for(std::string reason, std::string error) {
  Decision decision;
  decision.kind = Decision::Kind::kDead;
  decision.reason = std::move(reason);
  decision.error = std::move(error);
  return decision;
}

Decision failed_statement(std::string reason, const Error& error) {
  const bool lasting = error.remedy != Remedy::kTime || error.kind == ErrorKind::kLimit;
  std::string text = shown(error.message);
  Decision decision = lasting ? dead_for(std::move(reason), std::move(text))
                              : failed(std::move(reason), std::move(text));
  decision.remedy = error.remedy;
  return decision;
}

void forgive_if_cancelled(Decision& decision, const HandlerMonitor::Watch* watch) {
  if (decision.kind == Decision::Kind::kFailed && watch != nullptr && watch->cancelled()) {
    decision.counted = false;
    decision.cancelled = true;
  }
}

std::optional<Decision> refuse_unkept(const Message& message) {
  const auto size = core::unkept_payload(message);
  if (!size) return std::nullopt;
  return dead_for(std::string(reason::kPayloadInvalid),
                  fmt::format("its payload of {} bytes was not kept", *size));
}

Decision call_handler(const Context& context, const Message& message, const Attempt& attempt) {
  if (auto refused = refuse_unkept(message)) return *std::move(refused);
  const auto& handler = std::get<PlainHandler>(context.handler);
  return decide_call(context, attempt, [&] { return handler(message, attempt); });
}

Decision call_handler(const Context& context, const Message& message, Transaction& transaction) {
  if (auto refused = refuse_unkept(message)) return *std::move(refused);
  const auto& handler = std::get<TransactionalHandler>(context.handler);
  return decide_call(context, transaction.attempt(), [&] {
    Verdict verdict = handler(message, transaction);
    std::vector<Publication>& recorded = core::TransactionRecorder::of(transaction).publications();
    if (recorded.empty()) return verdict;
    core::change_details<Verdict::Done>(verdict, [&](Verdict::Done& done) {
      std::ranges::move(recorded, std::back_inserter(done.publications));
    });
    return verdict;
  });
}

std::vector<Decision> call_batch_handler(const Context& context,
                                         std::span<const Message* const> messages,
                                         std::span<const Attempt> attempts) {
  const auto& handler = std::get<BatchHandler>(context.handler);
  std::vector<Decision> decisions;
  decisions.reserve(messages.size());
  failpoint::hit(*context.environment, failpoint::kHandlerBefore);
  try {
    std::vector<Verdict> verdicts = handler(messages, attempts);
    if (verdicts.size() != messages.size()) {
      throw std::length_error(fmt::format("the batch handler gave {} verdicts for {} messages",
                                          verdicts.size(), messages.size()));
    }
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      decisions.push_back(decide_native(context, attempts[i], std::move(verdicts[i])));
    }
  } catch (...) {
    decisions.clear();
    for (const Attempt& attempt : attempts) decisions.push_back(decide_thrown(attempt));
  }
  failpoint::hit(*context.environment, failpoint::kHandlerAfter);
  return decisions;
}

Decision decide_answer(const Context& context, const Attempt& attempt,
                       std::optional<Verdict> verdict) {
  if (verdict) return decide_native(context, attempt, *std::move(verdict));
  Decision decision = failed(std::string(native_reason(attempt)),
                             "the handler dropped its completion without an answer");
  decision.unknown = true;
  return decision;
}

Decision decide_thrown(const Attempt& attempt) {
  Decision decision = decide_caught(attempt);
  decision.thrown = true;
  return decision;
}

Decision decide_miss(const Context& context, const Otherwise& otherwise,
                     std::string_view sql_class) {
  if (otherwise.duplicate) {
    Decision decision;
    decision.kind = Decision::Kind::kDuplicate;
    return decision;
  }
  const std::string why = reason::sql_reason(sql_class);
  return decide_verdict(context, Verdict(otherwise.verdict), why, why);
}

}  // namespace semel::strategies
