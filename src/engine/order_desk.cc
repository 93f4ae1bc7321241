#include "engine/order_desk.h"

#include <iterator>
#include <map>
#include <unordered_set>

#include <semel/reason.h>

#include "core/unkept_payload.h"

namespace semel::engine {

namespace {

using std::chrono::milliseconds;
using Place = HeldMessages::Place;

// Another process may have ended what a line waits for.
constexpr milliseconds kAskAgain{200};
constexpr milliseconds kAskAgainWhenAway{1'000};

}  // namespace

struct OrderDesk::Sorted {
  std::vector<Delivery> held;
  std::map<Bytes, std::vector<Delivery>> free;  // by line
  std::vector<Delivery> full;
};

OrderDesk::OrderDesk(Options options, Store& store, strategies::Front* front, Flight& flight,
                     SourceDesk& sources, Environment& environment, Observer& observer)
    : options_(std::move(options)),
      keeps_lines_(core::keeps_lines(options_.order)),
      store_(store),
      front_(front),
      flight_(flight),
      sources_(sources),
      environment_(environment),
      observer_(observer) {}

Result<void> OrderDesk::load() {
  if (!keeps_lines_) return {};
  const Flight::Question asked = flight_.ask();
  auto lines = store_.facets().held->lines(options_.number);
  if (!lines) return failure(std::move(lines.error()));
  flight_.lines_held(*lines, asked);
  return {};
}

Result<bool> OrderDesk::look_after(TimePoint now) {
  if (!keeps_lines_ && !options_.defers) return false;
  const Flight::Waiting waiting = flight_.waiting_aside();
  if (waiting.many_lines) {
    if (auto loaded = load(); !loaded) return failure(std::move(loaded.error()));
  }
  const bool ask = waiting.followers && (waiting.moved || !again_at_ || now >= *again_at_);
  if (!waiting.rows && !ask) return false;
  Flight::Aside aside = flight_.take_aside();
  sources_.give_back(aside.rows);
  if (!ask) {
    flight_.keep_aside(std::move(aside.followers));
    return true;
  }
  if (auto placed = place(std::move(aside.followers), now); !placed) {
    return failure(std::move(placed.error()));
  }
  return true;
}

Result<void> OrderDesk::place(std::vector<Delivery> followers, TimePoint now) {
  if (options_.defers && front_ != nullptr) followers = answer(std::move(followers), now);
  if (followers.empty()) {
    stay({}, std::nullopt);
    return {};
  }
  const Flight::Question asked = flight_.ask();
  auto places = options_.defers ? keep_all(followers) : keep(followers);
  if (!places) {
    stay(std::move(followers), now + kAskAgainWhenAway);
    return failure(std::move(places.error()));
  }
  Sorted sorted = sort(std::move(followers), *places);
  std::vector<Landing> landings;
  for (const Delivery& delivery : sorted.held) {
    observer_.on_held(options_.consumer, delivery);
    landings.push_back(Landing::of(delivery, Settlement::Kind::kAck));
  }
  if (!landings.empty()) {
    failpoint::hit(environment_, failpoint::kSettleBefore);
    sources_.settle(landings);
    failpoint::hit(environment_, failpoint::kSettleAfter);
  }
  std::optional<TimePoint> again_at;
  if (!sorted.full.empty()) again_at = now + kAskAgain;
  for (auto& [line, deliveries] : sorted.free) {
    auto stopped = flight_.line_free(line, std::move(deliveries), asked);
    if (!stopped.empty()) again_at = now;
    std::move(stopped.begin(), stopped.end(), std::back_inserter(sorted.full));
  }
  stay(std::move(sorted.full), again_at);
  return {};
}

std::vector<Delivery> OrderDesk::answer(std::vector<Delivery> followers, TimePoint now) {
  const auto glance = front_->look(std::span<const Delivery>(followers));
  std::vector<Delivery> rest;
  std::vector<Landing> landings;
  for (std::size_t i = 0; i < followers.size(); ++i) {
    Delivery& delivery = followers[i];
    if (!glance.completed[i]) {
      rest.push_back(std::move(delivery));
      continue;
    }
    observer_.on_ended(options_.consumer, delivery, strategies::answered_by_front(),
                       now - delivery.arrival.received);
    landings.push_back(Landing::of(delivery, Settlement::Kind::kAck));
  }
  if (!landings.empty()) sources_.settle(landings);
  return rest;
}

Result<std::vector<Place>> OrderDesk::keep(const std::vector<Delivery>& followers) {
  if (options_.order->on_failure == core::Order::OnFailure::kBlock) return look(followers);
  std::vector<Follower> asked_for;
  asked_for.reserve(followers.size());
  for (const Delivery& delivery : followers) {
    asked_for.push_back({&delivery.message, &delivery.arrival});
  }
  return store_.facets().held->hold_behind(options_.number, asked_for, options_.order->most_held);
}

// Where partitions are blocked nothing goes behind another: what cannot run stays aside.
Result<std::vector<Place>> OrderDesk::look(const std::vector<Delivery>& followers) {
  auto held = store_.facets().held->lines(options_.number);
  if (!held) return failure(std::move(held.error()));
  const std::unordered_set<Bytes> lines(held->begin(), held->end());
  std::vector<Place> places;
  places.reserve(followers.size());
  for (const Delivery& delivery : followers) {
    places.push_back(lines.contains(*delivery.arrival.line) ? Place::kFull : Place::kFree);
  }
  return places;
}

// Whatever its line holds: it is due, and in line it has its place.
Result<std::vector<Place>> OrderDesk::keep_all(const std::vector<Delivery>& followers) {
  std::vector<Finish> finishes;
  finishes.reserve(followers.size());
  for (const Delivery& delivery : followers) {
    Finish& finish = finishes.emplace_back();
    finish.to = Finish::To::kRetrying;
    finish.keep = &delivery.message;
    finish.arrival = &delivery.arrival;
    finish.inbox = options_.inbox;
  }
  auto applied = store_.finish(finishes);
  if (!applied && applied.error().kind == ErrorKind::kLimit) {
    if (auto kept = keep_each(finishes); !kept) return failure(std::move(kept.error()));
  } else if (!applied) {
    return failure(std::move(applied.error()));
  }
  return std::vector<Place>(followers.size(), Place::kHeld);
}

// The store does not take one of them: it becomes a dead letter without its payload.
Result<void> OrderDesk::keep_each(std::vector<Finish>& finishes) {
  for (Finish& finish : finishes) {
    auto applied = store_.finish({&finish, 1});
    if (!applied && applied.error().kind == ErrorKind::kLimit) {
      const Message bare = core::without_payload(*finish.keep);
      finish.to = Finish::To::kDead;
      finish.reason = reason::kTooLarge;
      finish.error = core::unkept_text(finish.keep->payload().size(), applied.error().message);
      finish.keep = &bare;
      applied = store_.finish({&finish, 1});
    }
    if (!applied) return failure(std::move(applied.error()));
  }
  return {};
}

OrderDesk::Sorted OrderDesk::sort(std::vector<Delivery> followers,
                                  const std::vector<Place>& places) {
  Sorted sorted;
  for (std::size_t i = 0; i < followers.size(); ++i) {
    Delivery& delivery = followers[i];
    switch (places[i]) {
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

// What stays is not to grow: its partitions bring no more until it has gone.
void OrderDesk::stay(std::vector<Delivery> followers, std::optional<TimePoint> again_at) {
  std::set<std::pair<std::uint32_t, std::string>> full;
  for (const Delivery& delivery : followers) {
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
  flight_.keep_aside(std::move(followers));
}

}  // namespace semel::engine
