#include "sources/sqs/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/oldest_figure.h"
#include "system/utc_clock.h"

namespace semel::sqs {

using std::chrono::milliseconds;

namespace {

// Receipts are numbered from one during the life of a source, so there is one generation.
constexpr std::uint64_t kGeneration = 1;
// How long deletions wait for others of their batch: each request costs money and time.
constexpr milliseconds kRemovalWaits{20};

core::AckPace pace_of(const core::SqsSpec& spec) {
  const auto most = static_cast<std::size_t>(spec.prefetch);
  return {std::min(core::kSqsBatch, most), kRemovalWaits};
}

}  // namespace

SqsSource::SqsSource(SqsOptions options, Environment& environment)
    : BrokerSource({.traits = kSourceTraits,
                    .name = "SQS",
                    .partition = options.spec.queue.name,
                    .follow = options.follow,
                    .ack_pace = pace_of(options.spec),
                    .hands_out_while_away = true,
                    .untold = {ErrorKind::kUnavailable,
                               "R390",
                               "the last deletions may not have reached SQS: what was done comes "
                               "again, and is a duplicate then",
                               {}}},
                   environment),
      options_(std::move(options)),
      spec_(options_.spec),
      client_(spec_),
      pauses_(spec_.visibility),
      ledger_(spec_.visibility) {}

bool SqsSource::hand_out(std::vector<Arrival>& into) {
  const Ledger::Taken taken = ledger_.take(now());
  if (ledger_.has_forgotten()) wake();
  if (taken.arrival == nullptr) return false;
  Arrival& arrival = into.emplace_back(*taken.arrival);
  arrival.partition = spec_.queue.name;
  arrival.tag = {taken.tag, kGeneration};
  return true;
}

bool SqsSource::settle_one(const Settlement& settlement) {
  return settlement.tag.generation == kGeneration &&
         ledger_.settle(settlement.tag.value, settlement.kind);
}

std::vector<SourceFigure> SqsSource::figures() {
  const system::MutexLock lock(mutex_);
  if (closed_) return {};
  std::vector<SourceFigure> made = {
      {"in_hand", {}, static_cast<std::int64_t>(ledger_.open()), {}},
      {"to_delete", {}, static_cast<std::int64_t>(ledger_.deletes()), {}}};
  core::add_oldest(made, ledger_.oldest_sent(), system::utc_now());
  if (expired_ > 0) made.push_back({"expired_receipts", {}, expired_, {}});
  if (throttled_ > 0) made.push_back({"throttled", {}, throttled_, {}});
  return made;
}

bool SqsSource::is_stopped() {
  const system::MutexLock lock(mutex_);
  return stop_;
}

void SqsSource::warn(const char* code, const std::string& text) {
  notice(fmt::format("warning[{}]: {}", code, text));
}

}  // namespace semel::sqs
