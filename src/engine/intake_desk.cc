#include "engine/intake_desk.h"

#include <algorithm>

#include <semel/reason.h>

#include "core/dead_letter_copy.h"

namespace semel::engine {

IntakeDesk::IntakeDesk(Options options, Store& store, Observer& observer)
    : options_(std::move(options)),
      store_(store),
      observer_(observer),
      intake_(options_.number, options_.recipe, options_.limits, options_.order) {}

std::vector<Delivery> IntakeDesk::take_in(std::vector<Arrival> arrivals,
                                          const SourceTraits& traits) {
  std::vector<Delivery> deliveries;
  deliveries.reserve(arrivals.size());
  for (Arrival& arrival : arrivals) {
    if (window_ > 0 && traits.replays && !traits.in_store) {
      const system::MutexLock lock(mutex_);
      auto [left, fresh] = suspect_left_.try_emplace(arrival.partition, window_);
      if (left->second > 0) {
        --left->second;
        arrival.suspect = true;
      }
    }
    if (arrival.refused) {
      core::Refusal why{*arrival.refused, arrival.refused_error};
      refuse(std::move(arrival), std::move(why));
      continue;
    }
    auto message = intake_.make(arrival);
    if (message) {
      deliveries.emplace_back(*std::move(message), std::move(arrival));
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

void IntakeDesk::suspect_one_more(const std::string& partition) {
  const system::MutexLock lock(mutex_);
  const auto left = suspect_left_.find(partition);
  if (left != suspect_left_.end()) ++left->second;
}

bool IntakeDesk::suspecting() {
  const system::MutexLock lock(mutex_);
  return std::any_of(suspect_left_.begin(), suspect_left_.end(),
                     [](const auto& left) { return left.second > 0; });
}

std::size_t IntakeDesk::tell_refused() {
  for (const Refused& refused : refused_) {
    observer_.on_refused(options_.consumer, refused.arrival, refused.why.reason, refused.why.error);
  }
  return give_back().size();
}

void IntakeDesk::refuse(Arrival arrival, core::Refusal why) {
  Message message = core::refused_message(options_.number, arrival);
  refused_.push_back({std::move(arrival), std::move(message), std::move(why)});
}

Result<std::vector<IntakeDesk::Kept>> IntakeDesk::keep_refused() {
  std::vector<Finish> finishes;
  finishes.reserve(refused_.size());
  for (const Refused& refused : refused_) {
    Finish finish;
    finish.to = Finish::To::kDead;
    finish.reason = refused.why.reason;
    finish.error = refused.why.error;
    finish.keep = &refused.message;
    finish.arrival = &refused.arrival;
    finish.ack = refused.arrival.row;
    if (options_.copies_to) {
      finish.outgoing.push_back(
          core::dead_letter_copy(*options_.copies_to, options_.consumer, finish));
    }
    finishes.push_back(std::move(finish));
  }
  auto applied = store_.finish(finishes);
  if (!applied) return failure(std::move(applied.error()));
  for (const Refused& refused : refused_) {
    observer_.on_refused(options_.consumer, refused.arrival, refused.why.reason, refused.why.error);
  }
  return give_back();
}

std::vector<IntakeDesk::Kept> IntakeDesk::give_back() {
  std::vector<Kept> kept;
  kept.reserve(refused_.size());
  for (const Refused& refused : refused_) {
    kept.push_back({refused.arrival.source, refused.arrival.tag, refused.arrival.row.has_value()});
  }
  refused_.clear();
  return kept;
}

}  // namespace semel::engine
