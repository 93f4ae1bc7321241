#include "operate/record_changes.h"

#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <semel/front.h>
#include <semel/reason.h>
#include <semel/spi/finish.h>

#include "operate/cause.h"
#include "operate/words.h"

namespace semel::operate {

namespace {

// The longest time that the store may take for the call that follows.
constexpr std::chrono::seconds kToSay{60};
constexpr std::size_t kKeyShown = 48;

}  // namespace

Result<bool> forget_record(const StoreAccess& access, const RecordView& seen) {
  return access.facets.records->forget_as(seen.id, seen.state, seen.token);
}

Result<bool> decide_record(const StoreAccess& access, const RecordView& seen, std::string_view as) {
  auto lease = access.facets.records->seize_as(seen.id, seen.state, seen.token, kToSay);
  if (!lease) return failure(std::move(lease.error()));
  if (!*lease) return false;
  Finish finish;
  finish.lease = **lease;
  finish.to = as == kDone    ? Finish::To::kCompleted
              : as == kRetry ? Finish::To::kRetrying
                             : Finish::To::kDead;
  finish.attempts = seen.attempt;
  if (finish.to != Finish::To::kCompleted) {
    finish.reason = as == kRetry ? std::string(seen.reason) : std::string(reason::kOperator);
    finish.error = as == kRetry ? "an operator said that it did not happen: to be tried again"
                                : given_up_text(seen.error);
  }
  const auto applied = access.store.finish({&finish, 1});
  if (!applied) return failure(applied.error());
  return applied->front() == Applied::kYes;
}

Result<bool> unlock_record(const StoreAccess& access, const RecordView& seen) {
  const bool in_doubt =
      seen.reason == reason::kLeaseParked || seen.reason == reason::kOutcomeUnknown;
  if (seen.state == RecordState::kParked && in_doubt) {
    return failure({ErrorKind::kBlocked, "R242",
                    fmt::format("whether \"{}\" had its effect is not known: {}",
                                printable(seen.key, kKeyShown), seen.error),
                    "find out, and say it: --as done (it had), --as retry (it had not: try it "
                    "again) or --as dead (it had not, and never shall)"});
  }
  return access.facets.records->unlock_as(seen.id, seen.state, seen.token);
}

Result<bool> reseal_records(const StoreAccess& access, const std::set<ConsumerNumber>& consumers,
                            Environment& environment) {
  bool any = false;
  for (const ConsumerNumber consumer : consumers) {
    auto there = reseal_fronts(access.store, consumer, environment);
    if (!there) return there;
    any = any || *there;
  }
  return any;
}

}  // namespace semel::operate
