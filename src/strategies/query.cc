// query: looks whether the effect exists, then makes it. Wrong under concurrency; kept because
// people start with it.
#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/gate.h>
#include <semel/reason.h>

#include "strategies/backoff.h"
#include "strategies/calls.h"
#include "strategies/decision.h"
#include "strategies/finish_collector.h"
#include "strategies/kinds.h"
#include "strategies/recordless.h"
#include "strategies/resolver.h"

namespace semel::strategies {

namespace {

constexpr int kMostLooks = 6;
constexpr std::chrono::milliseconds kFirstLookWait{1};
constexpr std::chrono::milliseconds kLongestLookWait{100};

class Query final : public Strategy {
 public:
  explicit Query(Context context) : context_(std::move(context)), recordless_(context_) {}

  void process(std::span<core::TrackedDelivery> batch, OutcomeSink& sink) noexcept override {
    std::vector<core::TrackedDelivery*> absent;
    absent.reserve(batch.size());
    FinishCollector collector(context_, sink);
    for (core::TrackedDelivery& delivery : batch) {
      const Result<bool> there = look_patiently(delivery.message);
      if (!there && fails_for_all(there.error())) {
        sink.ended(delivery, withheld(there.error()));
      } else if (!there && is_its_own(there.error())) {
        const Call call{&delivery, ClaimInfo::without_record(delivery.arrival)};
        collector.add(delivery, ending_of(context_, call, failed_look(there.error())));
      } else if (!there) {
        sink.ended(delivery, store_away(there.error()));
      } else if (*there) {
        Outcome outcome;
        outcome.kind = Outcome::Kind::kDuplicate;
        sink.ended(delivery, std::move(outcome));
      } else {
        absent.push_back(&delivery);
      }
    }
    collector.flush();
    recordless_.run(absent, sink);
  }

 private:
  // True if the message is at fault. The look has a transaction of its own, so while the store
  // answers, only the message can make it fail again and again.
  static bool is_its_own(const Error& error) noexcept {
    return error.kind == ErrorKind::kRejected || error.kind == ErrorKind::kLimit ||
           error.kind == ErrorKind::kRetryTransaction;
  }
  // True for a missing column, table or permission: the look is the same for every message.
  bool fails_for_all(const Error& error) const noexcept {
    return context_.services.gate != nullptr && error.remedy == Remedy::kStatement;
  }
  Outcome withheld(const Error& error) const {
    context_.services.gate->pause(
        fmt::format("the look of strategy query fails: {}; mend the statement, the tables or the "
                    "rights, then resume the consumer",
                    error.message));
    Outcome outcome;
    outcome.kind = Outcome::Kind::kBusy;
    outcome.settle = Outcome::Settle::kRelease;
    return outcome;
  }
  static Decision failed_look(const Error& error) {
    constexpr std::string_view kFamily = "handler.sql.";
    const bool known = error.code.starts_with(kFamily);
    const bool busy = error.kind == ErrorKind::kRetryTransaction;
    return failed_statement(known ? error.code : reason::sql_reason(busy ? "busy" : "other"),
                            error);
  }

  Result<bool> look_patiently(const Message& message) const {
    Backoff backoff(*context_.environment->random, kFirstLookWait, kLongestLookWait);
    for (int tries = 1;; ++tries) {
      Result<bool> there = look(message);
      const bool again = !there && there.error().kind == ErrorKind::kRetryTransaction;
      if (!again || tries == kMostLooks) return there;
      backoff.wait();
    }
  }

  Result<bool> look(const Message& message) const noexcept {
    if (!context_.already_done) return false;
    try {
      return context_.already_done(message);
    } catch (...) {
      // If the look cannot be made for a message, its handler refuses it too, with a reason.
      return false;
    }
  }

  const Context context_;
  Recordless recordless_;
};

}  // namespace

std::unique_ptr<Strategy> make_query(Context context) {
  return std::make_unique<Query>(std::move(context));
}

}  // namespace semel::strategies
