#include "engine/source_desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace semel::engine {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kAgainWhenAway{1'000};

}  // namespace

SourceDesk::SourceDesk(Options options, std::vector<std::unique_ptr<Source>> sources,
                       Environment& environment, Observer& observer, StoreWatch& store)
    : options_(std::move(options)), environment_(environment), observer_(observer), store_(store) {
  for (auto& source : sources) {
    auto desk = std::make_unique<Desk>();
    desk->source = std::move(source);
    desk->leaving = dynamic_cast<core::LeavingPartitions*>(desk->source.get());
    desk->extended = environment_.clock->now();
    desks_.push_back(std::move(desk));
  }
}

std::vector<Flight::Generation> SourceDesk::take_leaving() {
  std::vector<Flight::Generation> all;
  for (std::size_t i = 0; i < desks_.size(); ++i) {
    if (desks_[i]->leaving == nullptr) continue;
    for (const std::uint64_t generation : desks_[i]->leaving->take_leaving()) {
      all.push_back({static_cast<std::uint32_t>(i), generation});
    }
  }
  return all;
}

Result<std::vector<SourceDesk::Batch>> SourceDesk::receive(Flight::Room room, std::size_t most,
                                                           bool sure, Flight::Question question,
                                                           std::size_t outside) {
  std::vector<Batch> batches;
  // Held messages first: they have waited, and there are few of them.
  for (std::size_t i = desks_.size(); i-- > 0;) {
    if (room.messages == 0 || room.bytes == 0) break;
    const bool in_store = desks_[i]->source->traits().in_store;
    const std::size_t here = in_store ? most : std::min(most, outside);
    if (here == 0) continue;
    const std::size_t before = room.messages;
    auto received =
        receive_from(*desks_[i], static_cast<std::uint32_t>(i), room, here, sure, batches);
    if (!received) return failure(std::move(received.error()));
    if (!in_store) outside -= std::min(outside, before - room.messages);
  }
  for (Batch& batch : batches) {
    batch.question = question;
    batch.first_number = arrivals_ + 1;
    arrivals_ += batch.arrivals.size();
  }
  return batches;
}

Result<void> SourceDesk::receive_from(Desk& desk, std::uint32_t index, Flight::Room& room,
                                      std::size_t most, bool sure, std::vector<Batch>& into) {
  const TimePoint now = environment_.clock->now();
  if (desk.away() && now < desk.again) return {};
  if (desk.source->traits().in_store && !told_all(desk)) return {};
  ReceiveLimits limits;
  limits.messages = std::min(most, room.messages);
  limits.bytes = room.bytes;
  limits.sure = sure;
  auto received = desk.source->receive(limits);
  if (!received) {
    if (received.error().kind != ErrorKind::kUnavailable) return failure(received.error());
    note_away(desk, received.error(), now);
    return {};
  }
  if (desk.away()) note_back(desk);
  if (received->horizon) {
    if (auto fine = judge(*received->horizon); !fine) return fine;
  }
  for (const std::string& notice : received->notices) {
    observer_.on_notice(options_.consumer, notice);
  }
  desk.at_end = received->at_end && received->arrivals.empty();
  if (received->arrivals.empty()) return {};
  std::uint64_t generation = desk.generation;
  for (Arrival& arrival : received->arrivals) {
    arrival.source = index;
    arrival.received = now;
    generation = std::max(generation, arrival.tag.generation);
    room.bytes -= std::min(room.bytes, arrival.payload.size());
  }
  const bool newer = std::exchange(desk.generation, generation) < generation;
  assigned_ = assigned_ || (newer && !desk.source->traits().in_store);
  room.messages -= std::min(room.messages, received->arrivals.size());
  if (desk.source->traits().redelivers) {
    const system::MutexLock lock(desk.mutex);
    for (const Arrival& arrival : received->arrivals) desk.in_flight.insert(arrival.tag);
  }
  into.push_back({std::move(received->arrivals), &desk.source->traits(), {}, 0});
  return {};
}

// Until the store has heard of rows to give back, it counts them as held by this process, and would
// return the rows behind them.
bool SourceDesk::told_all(Desk& desk) {
  const system::MutexLock lock(desk.mutex);
  return tell(desk).has_value();
}

// A ttl set in the config that is too short prevents the run; for `auto` it is only reported.
Result<void> SourceDesk::judge(const Horizon& horizon) {
  const core::Retention& retention = options_.retention;
  if (!retention.ttl || retention.accepted) return {};
  auto error = core::too_short(retention, horizon);
  if (!error) {
    if (!horizon.known) observer_.on_notice(options_.consumer, horizon.said);
    return {};
  }
  if (error->kind == ErrorKind::kRejected) return failure(*std::move(error));
  observer_.on_notice(options_.consumer, fmt::format("warning[{}]: {}; fix: {}", error->code,
                                                     error->message, error->hint));
  return {};
}

void SourceDesk::note_away(Desk& desk, const Error& error, TimePoint now) {
  desk.at_end = false;
  desk.again = now + kAgainWhenAway;
  // Each reason is reported once: a broker that is reachable again may refuse, and two errors may
  // alternate.
  if (!desk.away_for.insert(error.code).second) return;
  if (!away_since_) away_since_ = now;
  const SourceTraits& traits = desk.source->traits();
  if (traits.in_store) return store_.source_away(error);
  observer_.on_trouble(options_.consumer, traits.name, error, false);
}

void SourceDesk::note_back(Desk& desk) {
  desk.away_for.clear();
  if (std::none_of(desks_.begin(), desks_.end(), [](const auto& d) { return d->away(); })) {
    away_since_.reset();
  }
  const SourceTraits& traits = desk.source->traits();
  if (traits.in_store) return store_.source_back();
  observer_.on_trouble(options_.consumer, traits.name, Error{ErrorKind::kUnavailable, {}, {}, {}},
                       true);
}

bool SourceDesk::at_end() const noexcept {
  return std::all_of(desks_.begin(), desks_.end(), [](const auto& desk) { return desk->at_end; });
}

bool SourceDesk::looked_through() const noexcept {
  return std::all_of(desks_.begin(), desks_.end(), [](const auto& desk) {
    const SourceTraits& traits = desk->source->traits();
    return traits.in_store || !traits.ends || desk->at_end;
  });
}

void SourceDesk::wait(int event_fd, Listen listen, std::optional<TimePoint> until) {
  std::vector<pollfd> fds{{event_fd, POLLIN, 0}};
  const TimePoint now = environment_.clock->now();
  const auto at_latest = [&](TimePoint when) { until = until ? std::min(*until, when) : when; };
  for (const auto& desk : desks_) {
    {
      const system::MutexLock lock(desk->mutex);
      if (!desk->open.empty()) at_latest(now + kAgainWhenAway);
    }
    if (desk->away()) at_latest(desk->again);
    if (desk->leaving != nullptr) fds.push_back({desk->leaving->leaving_fd(), POLLIN, 0});
    if (listen == Listen::kNone || desk->away()) continue;
    if (listen == Listen::kInStore && !desk->source->traits().in_store) continue;
    const Wakeup wakeup = desk->source->wakeup();
    if (wakeup.fd >= 0) fds.push_back({wakeup.fd, POLLIN, 0});
    if (wakeup.due_in) at_latest(now + *wakeup.due_in);
  }
  int timeout = -1;
  if (until) {
    // Rounded up: waking a moment early would only loop until that moment has passed.
    const auto left = std::chrono::ceil<milliseconds>(*until - now).count();
    timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  }
  ::poll(fds.data(), fds.size(), timeout);
}

void SourceDesk::settle(const std::vector<Landing>& landings) {
  for (const auto& desk : desks_) {
    const system::MutexLock lock(desk->mutex);
    for (const Landing& landing : landings) {
      if (desks_[landing.source] != desk || landing.keep != nullptr) continue;
      desk->in_flight.erase(landing.settlement.tag);
      desk->open.push_back(landing.settlement);
    }
    // A settlement that failed is sent again later.
    (void)tell(*desk);
  }
}

void SourceDesk::give_back(const std::vector<core::TrackedDelivery>& rest) {
  std::vector<Landing> landings;
  landings.reserve(rest.size());
  for (const core::TrackedDelivery& delivery : rest) {
    landings.push_back(Landing::of(delivery, Settlement::Kind::kRelease));
  }
  if (!landings.empty()) settle(landings);
}

void SourceDesk::settle_open() {
  for (const auto& desk : desks_) {
    const system::MutexLock lock(desk->mutex);
    (void)tell(*desk);
  }
}

Result<void> SourceDesk::settle_rows() {
  for (const auto& desk : desks_) {
    if (!desk->source->traits().in_store) continue;
    const system::MutexLock lock(desk->mutex);
    if (auto told = tell(*desk); !told) return told;
  }
  return {};
}

Result<void> SourceDesk::tell(Desk& desk) {
  if (desk.closed) desk.open.clear();
  if (desk.open.empty() || options_.dry_run) return {};
  auto told = desk.source->settle(desk.open);
  if (told) desk.open.clear();
  return told;
}

void SourceDesk::extend(const std::set<SourceTag>& but) {
  const TimePoint now = environment_.clock->now();
  for (std::uint32_t index = 0; index < desks_.size(); ++index) {
    const auto& desk = desks_[index];
    if (!desk->source->traits().redelivers) continue;
    std::vector<Tag> tags;
    {
      const system::MutexLock lock(desk->mutex);
      if (desk->closed || now - desk->extended < options_.hidden / 3) continue;
      desk->extended = now;
      for (const Tag& tag : desk->in_flight) {
        if (!but.contains({index, tag})) tags.push_back(tag);
      }
    }
    // A row that could not be extended may come a second time; its record then shows that.
    if (!tags.empty()) (void)desk->source->extend(tags, options_.hidden);
  }
}

std::vector<Engine::Figures> SourceDesk::figures() {
  std::vector<Engine::Figures> all;
  for (const auto& desk : desks_) {
    auto figures = desk->source->figures();
    if (!figures.empty()) all.push_back({desk->source->traits().name, std::move(figures)});
  }
  return all;
}

void SourceDesk::close(milliseconds deadline) {
  for (const auto& desk : desks_) close_one(*desk, deadline);
}

void SourceDesk::close_outside(milliseconds deadline) {
  for (const auto& desk : desks_) {
    if (!desk->source->traits().in_store) close_one(*desk, deadline);
  }
}

void SourceDesk::close_one(Desk& desk, milliseconds deadline) {
  {
    const system::MutexLock lock(desk.mutex);
    if (desk.closed) return;
    (void)tell(desk);
    desk.closed = true;
  }
  auto closed = desk.source->close(deadline);
  if (!closed) {
    observer_.on_trouble(options_.consumer, desk.source->traits().name, closed.error(), false);
  }
}

std::vector<std::string> SourceDesk::unread_outside() {
  std::vector<std::string> all;
  for (const auto& desk : desks_) {
    if (desk->source->traits().in_store) continue;
    auto unread = desk->source->unread();
    if (unread) std::ranges::move(*unread, std::back_inserter(all));
  }
  return all;
}

bool SourceDesk::replays_from_outside() const noexcept {
  return std::any_of(desks_.begin(), desks_.end(), [](const auto& desk) {
    const SourceTraits& traits = desk->source->traits();
    return traits.replays && !traits.in_store;
  });
}

}  // namespace semel::engine
