#include "engine/ordering_buffer.h"

#include <iterator>
#include <map>
#include <unordered_set>
#include <utility>

#include <semel/reason.h>

#include "core/dead_letter_copy.h"
#include "core/failpoints.h"
#include "core/unkept_payload.h"

namespace semel::engine {

namespace {

using std::chrono::milliseconds;
using Place = HeldMessages::Place;

// Another process may have finished the message that an ordering group waits for: ask again.
constexpr milliseconds kAskAgain{200};
constexpr milliseconds kAskAgainWhenAway{1'000};

}  // namespace

// The store's answer for each follower.
struct OrderingBuffer::Placed {
  std::vector<Place> places;
  std::map<std::size_t, Outcome> dead;  // by index: the store refused them
};

struct OrderingBuffer::Sorted {
  std::vector<core::TrackedDelivery> held;
  std::vector<std::pair<core::TrackedDelivery, Outcome>> dead;
  std::map<Bytes, std::vector<core::TrackedDelivery>> free;  // by line
  std::vector<core::TrackedDelivery> full;
};

OrderingBuffer::OrderingBuffer(Options options, Store& store, strategies::Front* front,
                               InFlightDeliveries& in_flight, SourceSet& sources,
                               Environment& environment, Observer& observer)
    : options_(std::move(options)),
      keeps_lines_(core::keeps_lines(options_.order)),
      store_(store),
      front_(front),
      in_flight_(in_flight),
      sources_(sources),
      environment_(environment),
      observer_(observer) {}

Result<void> OrderingBuffer::load() {
  if (!keeps_lines_) return {};
  const InFlightDeliveries::Question asked = in_flight_.ask();
  auto lines = store_.facets().held->lines(options_.number);
  if (!lines) return failure(std::move(lines.error()));
  heard_ = true;
  in_flight_.lines_held(*lines, asked);
  return {};
}

Result<void> OrderingBuffer::load_again(TimePoint now) {
  if (!keeps_lines_) return {};
  in_flight_.forget_lines();
  return try_load(now);
}

Result<void> OrderingBuffer::try_load(TimePoint now) {
  auto loaded = load();
  load_at_ = loaded ? std::nullopt : std::optional(now + kAskAgainWhenAway);
  return loaded;
}

void OrderingBuffer::look_at_pauses() {
  if (!paused_.empty() && !in_flight_.waiting_aside().followers) stay({}, std::nullopt);
}

Result<bool> OrderingBuffer::look_after(TimePoint now) {
  if (!keeps_lines_ && !options_.defers) return false;
  const InFlightDeliveries::Waiting waiting = in_flight_.waiting_aside();
  Result<void> loaded;  // followers that wait aside are looked at even if loading failed
  if (!waiting.ask_for_all) {
    load_at_.reset();
  } else if (!load_at_ || now >= *load_at_) {
    loaded = try_load(now);
  }
  const bool ask = waiting.followers && (waiting.moved || !again_at_ || now >= *again_at_);
  const auto done = [&](bool changed) -> Result<bool> {
    if (!loaded) return failure(std::move(loaded.error()));
    return changed;
  };
  if (!waiting.rows && !ask) return done(false);
  InFlightDeliveries::Aside aside = in_flight_.take_aside();
  sources_.give_back(aside.rows);
  if (!ask) {
    in_flight_.keep_aside(std::move(aside.followers));
    return done(true);
  }
  if (auto placed = place(std::move(aside.followers), now); !placed) {
    return failure(std::move(placed.error()));
  }
  return done(true);
}

Result<void> OrderingBuffer::place(std::vector<core::TrackedDelivery> followers, TimePoint now) {
  if (options_.defers && front_ != nullptr) followers = answer(std::move(followers), now);
  if (followers.empty()) {
    stay({}, std::nullopt);
    return {};
  }
  const InFlightDeliveries::Question asked = in_flight_.ask();
  auto placed = options_.defers ? keep_all(followers) : keep(followers);
  if (!placed) {
    stay(std::move(followers), now + kAskAgainWhenAway);
    return failure(std::move(placed.error()));
  }
  heard_ = true;
  Sorted sorted = sort(std::move(followers), *placed);
  std::vector<PendingSettlement> pending_settlements;
  for (const core::TrackedDelivery& delivery : sorted.held) {
    observer_.on_held(options_.consumer, delivery);
    pending_settlements.push_back(PendingSettlement::of(delivery, Settlement::Kind::kAck));
  }
  for (const auto& [delivery, outcome] : sorted.dead) {
    observer_.on_ended(options_.consumer, delivery, outcome, now - delivery.arrival.received);
    sources_.ended(delivery.arrival.source, delivery.arrival.tag, outcome);
    pending_settlements.push_back(PendingSettlement::of(delivery, Settlement::Kind::kAck));
  }
  if (!pending_settlements.empty()) {
    failpoint::hit(environment_, failpoint::kSettleBefore);
    sources_.settle(pending_settlements);
    failpoint::hit(environment_, failpoint::kSettleAfter);
  }
  std::optional<TimePoint> again_at;
  if (!sorted.full.empty()) again_at = now + kAskAgain;
  for (auto& [line, deliveries] : sorted.free) {
    auto stopped = in_flight_.line_free(line, std::move(deliveries), asked);
    if (!stopped.empty()) again_at = now;
    std::move(stopped.begin(), stopped.end(), std::back_inserter(sorted.full));
  }
  stay(std::move(sorted.full), again_at);
  return {};
}

std::vector<core::TrackedDelivery> OrderingBuffer::answer(
    std::vector<core::TrackedDelivery> followers, TimePoint now) {
  const auto lookup = front_->look(std::span<const core::TrackedDelivery>(followers));
  std::vector<core::TrackedDelivery> rest;
  std::vector<PendingSettlement> pending_settlements;
  for (std::size_t i = 0; i < followers.size(); ++i) {
    core::TrackedDelivery& delivery = followers[i];
    if (!lookup.completed[i]) {
      rest.push_back(std::move(delivery));
      continue;
    }
    const Outcome outcome = strategies::answered_by_front();
    observer_.on_ended(options_.consumer, delivery, outcome, now - delivery.arrival.received);
    sources_.ended(delivery.arrival.source, delivery.arrival.tag, outcome);
    pending_settlements.push_back(PendingSettlement::of(delivery, Settlement::Kind::kAck));
  }
  if (!pending_settlements.empty()) sources_.settle(pending_settlements);
  return rest;
}

Result<OrderingBuffer::Placed> OrderingBuffer::keep(
    const std::vector<core::TrackedDelivery>& followers) {
  if (options_.order->on_failure == core::Order::OnFailure::kBlock) return look(followers);
  std::vector<Follower> asked_for;
  asked_for.reserve(followers.size());
  for (const core::TrackedDelivery& delivery : followers) {
    asked_for.push_back({&delivery.message, &delivery.arrival});
  }
  HeldMessages& held = *store_.facets().held;
  auto places = held.hold_behind(options_.number, asked_for, options_.order->most_held);
  if (places) return Placed{*std::move(places), {}};
  return each_alone(followers, std::move(places.error()), [&](std::size_t at) -> Result<Place> {
    auto place = held.hold_behind(options_.number, {&asked_for[at], 1}, options_.order->most_held);
    if (!place) return failure(std::move(place.error()));
    return place->front();
  });
}

// With `on_failure: block` no message is stored behind another one: messages that cannot run stay
// aside.
Result<OrderingBuffer::Placed> OrderingBuffer::look(
    const std::vector<core::TrackedDelivery>& followers) {
  auto held = store_.facets().held->lines(options_.number);
  if (!held) return failure(std::move(held.error()));
  const std::unordered_set<Bytes> lines(held->begin(), held->end());
  Placed placed;
  placed.places.reserve(followers.size());
  for (const core::TrackedDelivery& delivery : followers) {
    placed.places.push_back(lines.contains(*delivery.arrival.line) ? Place::kFull : Place::kFree);
  }
  return placed;
}

// Stores every follower: each is due at once and keeps its place in its ordering group.
Result<OrderingBuffer::Placed> OrderingBuffer::keep_all(
    const std::vector<core::TrackedDelivery>& followers) {
  std::vector<Finish> finishes;
  finishes.reserve(followers.size());
  for (const core::TrackedDelivery& delivery : followers) {
    Finish& finish = finishes.emplace_back();
    finish.to = Finish::To::kRetrying;
    finish.keep = &delivery.message;
    finish.arrival = finish.settles = &delivery.arrival;
    finish.inbox = options_.inbox;
  }
  auto applied = store_.finish(finishes);
  if (applied) return Placed{std::vector<Place>(followers.size(), Place::kHeld), {}};
  return each_alone(followers, std::move(applied.error()), [&](std::size_t at) -> Result<Place> {
    auto alone = store_.finish({&finishes[at], 1});
    if (!alone) return failure(std::move(alone.error()));
    return Place::kHeld;
  });
}

// Stores the followers one by one, after the store refused them together because one is too large.
// Storing a message twice keeps it once.
template <class PlaceOne>
Result<OrderingBuffer::Placed> OrderingBuffer::each_alone(
    const std::vector<core::TrackedDelivery>& followers, Error met, PlaceOne place_one) {
  if (met.kind != ErrorKind::kLimit) return failure(std::move(met));
  Placed placed;
  // A line that has no room, or no row, has none for the later ones of these: they must not get
  // behind a row before the one that stays.
  std::map<BytesView, Place> not_held;
  for (std::size_t i = 0; i < followers.size(); ++i) {
    const std::optional<Bytes>& line = followers[i].arrival.line;
    if (const auto known = line ? not_held.find(*line) : not_held.end(); known != not_held.end()) {
      placed.places.push_back(known->second);
      continue;
    }
    auto place = place_one(i);
    if (!place && place.error().kind == ErrorKind::kLimit) {
      auto dead = leave_letter(followers[i], place.error());
      if (!dead) return failure(std::move(dead.error()));
      placed.dead.emplace(i, *std::move(dead));
      place = Place::kHeld;
    }
    if (!place) return failure(std::move(place.error()));
    if (line && *place != Place::kHeld) not_held.emplace(*line, *place);
    placed.places.push_back(*place);
  }
  return placed;
}

// The store refuses the message, so a dead letter without the payload records it.
Result<Outcome> OrderingBuffer::leave_letter(const core::TrackedDelivery& delivery,
                                             const Error& refusal) {
  const Message bare = core::without_payload(delivery.message);
  Finish finish;
  finish.to = Finish::To::kDead;
  finish.reason = reason::kTooLarge;
  finish.error = core::unkept_text(delivery.message.payload().size(), refusal.message);
  finish.keep = &bare;
  finish.arrival = finish.settles = &delivery.arrival;
  finish.inbox = options_.inbox;
  if (options_.copies_to) {
    finish.outgoing.push_back(
        core::dead_letter_copy(*options_.copies_to, options_.consumer, finish));
  }
  auto applied = store_.finish({&finish, 1});
  if (!applied) return failure(std::move(applied.error()));
  Outcome outcome;
  outcome.kind = Outcome::Kind::kDead;
  outcome.settle = Outcome::Settle::kAck;
  outcome.reason = finish.reason;
  outcome.error = finish.error;
  return outcome;
}

OrderingBuffer::Sorted OrderingBuffer::sort(std::vector<core::TrackedDelivery> followers,
                                            const Placed& placed) {
  Sorted sorted;
  for (std::size_t i = 0; i < followers.size(); ++i) {
    core::TrackedDelivery& delivery = followers[i];
    if (const auto dead = placed.dead.find(i); dead != placed.dead.end()) {
      sorted.dead.emplace_back(std::move(delivery), dead->second);
      continue;
    }
    switch (placed.places[i]) {
      case Place::kHeld:
        sorted.held.push_back(std::move(delivery));
        break;
      case Place::kFree:
        sorted.free[*delivery.arrival.line].push_back(std::move(delivery));
        break;
      case Place::kFull:
        sorted.full.push_back(std::move(delivery));
        break;
    }
  }
  return sorted;
}

// Pauses the partitions of the followers that stay aside, so that no more of them arrive.
void OrderingBuffer::stay(std::vector<core::TrackedDelivery> followers,
                          std::optional<TimePoint> again_at) {
  std::set<std::pair<std::uint32_t, std::string>> full;
  for (const core::TrackedDelivery& delivery : followers) {
    full.emplace(delivery.arrival.source, delivery.arrival.partition);
  }
  for (const auto& [source, partition] : full) {
    if (!paused_.contains({source, partition})) sources_.set_paused(source, partition, true);
  }
  for (const auto& [source, partition] : paused_) {
    if (!full.contains({source, partition})) sources_.set_paused(source, partition, false);
  }
  paused_ = std::move(full);
  again_at_ = again_at;
  in_flight_.keep_aside(std::move(followers));
}

}  // namespace semel::engine
