#include "engine/receiver.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <semel/reason.h>

#include "core/dead_letter_copy.h"
#include "core/unkept_payload.h"

namespace semel::engine {

Receiver::Receiver(Options options, Store& store, Observer& observer)
    : options_(std::move(options)),
      store_(store),
      observer_(observer),
      intake_(options_.number, options_.recipe, options_.limits, options_.order,
              options_.start_trace) {}

std::vector<core::TrackedDelivery> Receiver::take_in(SourceSet::Batch batch) {
  const SourceTraits& traits = *batch.traits;
  std::uint64_t number = batch.first_number;
  std::vector<core::TrackedDelivery> deliveries;
  deliveries.reserve(batch.arrivals.size());
  for (Arrival& arrival : batch.arrivals) {
    const std::uint64_t own_number = number++;
    if (is_suspect(arrival, traits)) arrival.suspect = true;
    if (arrival.refused) {
      core::Refusal why{*arrival.refused, arrival.refused_error};
      refuse(std::move(arrival), std::move(why));
      continue;
    }
    if (auto why = refuses_empty(arrival)) {
      refuse(std::move(arrival), *std::move(why), options_.empty == core::EmptyPayload::kDiscard);
      continue;
    }
    auto message = intake_.make(arrival);
    if (message) {
      core::TrackedDelivery& made =
          deliveries.emplace_back(*std::move(message), std::move(arrival));
      made.question = batch.question;
      made.number = own_number;
      continue;
    }
    const bool missing = message.error().reason == reason::kKeyMissing;
    if (missing && options_.recipe.missing == core::KeyRecipe::Missing::kFail) {
      fatal_ = message.error().error;
      return deliveries;
    }
    refuse(std::move(arrival), std::move(message.error()));
  }
  return deliveries;
}

void Receiver::suspect_one_more(const std::string& partition) {
  const system::MutexLock lock(mutex_);
  const auto left = suspect_left_.find(partition);
  if (left != suspect_left_.end()) ++left->second;
}

bool Receiver::is_suspect(const Arrival& arrival, const SourceTraits& traits) {
  if (window_ == 0 || !comes_unmarked(traits)) return false;
  if (traits.answers) {
    if (asked_left_ == 0 || arrival.received >= asked_by_) return false;
    --asked_left_;
    return true;
  }
  const system::MutexLock lock(mutex_);
  const auto left = suspect_left_.try_emplace(arrival.partition, window_).first;
  if (left->second == 0) return false;
  --left->second;
  return true;
}

bool Receiver::suspecting(const std::optional<std::vector<std::string>>& unread) {
  if (window_ == 0) return false;
  const system::MutexLock lock(mutex_);
  if (unread) {
    return std::ranges::any_of(*unread, [&](const std::string& partition) SEMEL_REQUIRES(mutex_) {
      const auto left = suspect_left_.find(partition);
      return left == suspect_left_.end() || left->second > 0;
    });
  }
  return suspect_left_.empty() ||
         std::ranges::any_of(suspect_left_, [](const auto& left) { return left.second > 0; });
}

std::size_t Receiver::tell_refused() { return tell_all().size(); }

// A message that was tried before has a record, which must be completed in the usual way.
std::optional<core::Refusal> Receiver::refuses_empty(const Arrival& arrival) const {
  const bool refuses = options_.empty != core::EmptyPayload::kHandle;
  if (!refuses || !arrival.payload.empty() || arrival.since_first) return std::nullopt;
  return core::Refusal{std::string(reason::kPayloadInvalid), "the payload is empty"};
}

void Receiver::refuse(Arrival arrival, core::Refusal why, bool discarded) {
  Message message = core::refused_message(options_.number, arrival);
  refused_.push_back({std::move(arrival), std::move(message), std::move(why), discarded});
}

Finish Receiver::finish_of(const Refused& refused) const {
  Finish finish;
  finish.ack = refused.arrival.row;
  finish.settles = &refused.arrival;
  if (refused.discarded) {
    // End the row even if a record waits with it: otherwise the row would come back for ever.
    finish.to = Finish::To::kCompleted;
    return finish;
  }
  finish.to = Finish::To::kDead;
  finish.reason = refused.why.reason;
  finish.error = refused.why.error;
  finish.keep = &refused.message;
  finish.arrival = &refused.arrival;
  if (options_.copies_to) {
    finish.outgoing.push_back(
        core::dead_letter_copy(*options_.copies_to, options_.consumer, finish));
  }
  return finish;
}

bool Receiver::leaves_something(const Refused& refused) {
  return !refused.discarded || refused.arrival.row.has_value();
}

Result<void> Receiver::write_refused() {
  std::vector<Finish> finishes;
  finishes.reserve(refused_.size());
  for (const Refused& refused : refused_) {
    if (leaves_something(refused)) finishes.push_back(finish_of(refused));
  }
  if (finishes.empty()) return {};
  auto applied = store_.finish(finishes);
  if (applied) return {};
  if (applied.error().kind != ErrorKind::kLimit) return failure(std::move(applied.error()));
  // The store refuses one of them: write each alone. A dead letter written twice is kept once.
  for (Refused& refused : refused_) {
    if (!leaves_something(refused)) continue;
    const Finish whole = finish_of(refused);
    auto alone = store_.finish({&whole, 1});
    if (!alone && alone.error().kind == ErrorKind::kLimit) {
      leave_out_payload(refused, alone.error().message);
      const Finish bare = finish_of(refused);
      alone = store_.finish({&bare, 1});
    }
    if (!alone) return failure(std::move(alone.error()));
  }
  return {};
}

void Receiver::leave_out_payload(Refused& refused, const std::string& why) {
  if (core::unkept_payload(refused.message)) return;
  const std::size_t size = refused.message.payload().size();
  refused.why.error = fmt::format("{}; {}", refused.why.error, core::unkept_text(size, why));
  refused.message = core::without_payload(refused.message);
}

Result<std::vector<Receiver::Kept>> Receiver::keep_refused() {
  if (auto written = write_refused(); !written) return failure(std::move(written.error()));
  return tell_all();
}

void Receiver::tell(Refused refused) {
  if (!refused.discarded) {
    observer_.on_refused(options_.consumer, refused.arrival, refused.why.reason, refused.why.error);
    return;
  }
  Outcome outcome;
  outcome.kind = Outcome::Kind::kDiscarded;
  outcome.error = std::move(refused.why.error);
  const core::TrackedDelivery delivery(std::move(refused.message), std::move(refused.arrival));
  observer_.on_ended(options_.consumer, delivery, outcome, std::chrono::nanoseconds{0});
}

std::vector<Receiver::Kept> Receiver::tell_all() {
  std::vector<Kept> kept = kept_of(refused_);
  std::vector<Refused> ended = std::exchange(refused_, {});
  for (Refused& one : ended) tell(std::move(one));
  return kept;
}

std::vector<Receiver::Kept> Receiver::kept_of(std::span<const Refused> refused) {
  std::vector<Kept> kept;
  kept.reserve(refused.size());
  for (const Refused& one : refused) {
    Outcome outcome;
    outcome.kind = one.discarded ? Outcome::Kind::kDiscarded : Outcome::Kind::kDead;
    outcome.reason = one.why.reason;
    outcome.error = one.why.error;
    kept.push_back({one.arrival.source, one.arrival.tag, one.arrival.row.has_value(), outcome});
  }
  return kept;
}

std::vector<Receiver::Kept> Receiver::give_back() {
  std::vector<Kept> kept = kept_of(refused_);
  refused_.clear();
  return kept;
}

}  // namespace semel::engine
