#include "engine/source_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace semel::engine {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kAgainWhenAway{1'000};

}  // namespace

bool comes_unmarked(const SourceTraits& traits) noexcept {
  return traits.replays && !traits.in_store && !traits.marks_again;
}

SourceSet::SourceSet(Options options, std::vector<std::unique_ptr<Source>> sources,
                     Environment& environment, Observer& observer, StoreWatch& store)
    : options_(std::move(options)), environment_(environment), observer_(observer), store_(store) {
  for (auto& source : sources) {
    auto entry = std::make_unique<Entry>();
    entry->source = std::move(source);
    entry->leaving = dynamic_cast<core::LeavingPartitions*>(entry->source.get());
    entry->stands_aside = dynamic_cast<core::StandsAside*>(entry->source.get());
    entry->extended = environment_.clock->now();
    const auto& horizon = entry->source->traits().horizon;
    if (options_.age_gate && horizon) options_.age_gate->note(horizon);
    sources_.push_back(std::move(entry));
  }
}

std::vector<InFlightDeliveries::Generation> SourceSet::take_leaving() {
  std::vector<InFlightDeliveries::Generation> all;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i]->leaving == nullptr) continue;
    for (const std::uint64_t generation : sources_[i]->leaving->take_leaving()) {
      all.push_back({static_cast<std::uint32_t>(i), generation});
    }
  }
  return all;
}

Result<std::vector<SourceSet::Batch>> SourceSet::receive(InFlightDeliveries::Capacity capacity,
                                                         std::size_t most, bool sure,
                                                         InFlightDeliveries::Question question,
                                                         std::size_t outside) {
  std::vector<Batch> batches;
  // Held messages first: they have already waited, and they are few.
  for (std::size_t i = sources_.size(); i-- > 0;) {
    if (capacity.messages == 0 || capacity.bytes == 0) break;
    const bool in_store = sources_[i]->source->traits().in_store;
    const std::size_t here = in_store ? most : std::min(most, outside);
    if (here == 0) continue;
    const std::size_t before = capacity.messages;
    auto received =
        receive_from(*sources_[i], static_cast<std::uint32_t>(i), capacity, here, sure, batches);
    if (!received) return failure(std::move(received.error()));
    if (!in_store) outside -= std::min(outside, before - capacity.messages);
  }
  for (Batch& batch : batches) {
    batch.question = question;
    batch.first_number = arrivals_ + 1;
    arrivals_ += batch.arrivals.size();
  }
  return batches;
}

Result<void> SourceSet::receive_from(Entry& entry, std::uint32_t index,
                                     InFlightDeliveries::Capacity& capacity, std::size_t most,
                                     bool sure, std::vector<Batch>& into) {
  const TimePoint now = environment_.clock->now();
  if (entry.away() && now < entry.again) return {};
  if (entry.source->traits().in_store && !told_all(entry)) return {};
  ReceiveLimits limits;
  limits.messages = std::min(most, capacity.messages);
  limits.bytes = capacity.bytes;
  limits.sure = sure;
  auto received = entry.source->receive(limits);
  if (!received) {
    if (received.error().kind != ErrorKind::kUnavailable) return failure(received.error());
    note_away(entry, received.error(), now);
    return {};
  }
  if (entry.away()) note_back(entry);
  if (received->horizon) {
    if (auto fine = judge(*received->horizon); !fine) return fine;
    if (options_.age_gate) options_.age_gate->note(*received->horizon);
  }
  for (const std::string& notice : received->notices) {
    observer_.on_notice(options_.consumer, notice);
  }
  entry.at_end = received->at_end && received->arrivals.empty();
  if (received->arrivals.empty()) return {};
  std::uint64_t generation = entry.generation;
  for (Arrival& arrival : received->arrivals) {
    arrival.source = index;
    arrival.received = now;
    generation = std::max(generation, arrival.tag.generation);
    capacity.bytes -= std::min(capacity.bytes, arrival.payload.size());
  }
  const bool newer = std::exchange(entry.generation, generation) < generation;
  assigned_ = assigned_ || (newer && !entry.source->traits().in_store);
  capacity.messages -= std::min(capacity.messages, received->arrivals.size());
  if (entry.source->traits().redelivers) {
    const system::MutexLock lock(entry.mutex);
    for (const Arrival& arrival : received->arrivals) entry.in_flight.insert(arrival.tag);
  }
  into.push_back({std::move(received->arrivals), &entry.source->traits(), {}, 0});
  return {};
}

// Until the store knows which rows are given back, it counts them as held by this process and would
// return the rows behind them.
bool SourceSet::told_all(Entry& entry) {
  const system::MutexLock lock(entry.mutex);
  return tell(entry).has_value();
}

// A ttl set in the config that is too short prevents the run; with `auto` it is only reported.
Result<void> SourceSet::judge(const Horizon& horizon) {
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

void SourceSet::note_away(Entry& entry, const Error& error, TimePoint now) {
  entry.at_end = false;
  entry.again = now + kAgainWhenAway;
  // Report each error code once: two errors may alternate, as when a broker is reachable again but
  // refuses.
  if (!entry.away_for.insert(error.code).second) return;
  if (!away_since_) away_since_ = now;
  const SourceTraits& traits = entry.source->traits();
  if (traits.in_store) return store_.source_away(error);
  observer_.on_trouble(options_.consumer, traits.name, error, false);
}

void SourceSet::note_back(Entry& entry) {
  entry.away_for.clear();
  if (std::none_of(sources_.begin(), sources_.end(), [](const auto& d) { return d->away(); })) {
    away_since_.reset();
  }
  const SourceTraits& traits = entry.source->traits();
  if (traits.in_store) return store_.source_back();
  observer_.on_trouble(options_.consumer, traits.name, Error{ErrorKind::kUnavailable, {}, {}, {}},
                       true);
}

bool SourceSet::at_end() const noexcept {
  return std::all_of(sources_.begin(), sources_.end(),
                     [](const auto& entry) { return entry->at_end; });
}

bool SourceSet::looked_through() const noexcept {
  return std::all_of(sources_.begin(), sources_.end(), [](const auto& entry) {
    const SourceTraits& traits = entry->source->traits();
    return traits.in_store || !traits.ends || entry->at_end;
  });
}

void SourceSet::wait(int event_fd, Listen listen, std::optional<TimePoint> until) {
  std::vector<pollfd> fds{{event_fd, POLLIN, 0}};
  const TimePoint now = environment_.clock->now();
  const auto at_latest = [&](TimePoint when) { until = until ? std::min(*until, when) : when; };
  for (const auto& entry : sources_) {
    {
      const system::MutexLock lock(entry->mutex);
      if (!entry->open.empty()) at_latest(now + kAgainWhenAway);
    }
    if (entry->away()) at_latest(entry->again);
    if (entry->leaving != nullptr) fds.push_back({entry->leaving->leaving_fd(), POLLIN, 0});
    if (listen == Listen::kNone || entry->away()) continue;
    if (listen == Listen::kInStore && !entry->source->traits().in_store) continue;
    const Wakeup wakeup = entry->source->wakeup();
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

void SourceSet::settle(const std::vector<PendingSettlement>& pending_settlements) {
  for (const auto& entry : sources_) {
    const system::MutexLock lock(entry->mutex);
    for (const PendingSettlement& pending : pending_settlements) {
      if (sources_[pending.source] != entry || pending.keep != nullptr) continue;
      entry->in_flight.erase(pending.settlement.tag);
      entry->open.push_back(pending.settlement);
    }
    // A settlement that fails is sent again later.
    (void)tell(*entry);
  }
}

void SourceSet::give_back(const std::vector<core::TrackedDelivery>& rest) {
  std::vector<PendingSettlement> pending_settlements;
  pending_settlements.reserve(rest.size());
  for (const core::TrackedDelivery& delivery : rest) {
    pending_settlements.push_back(PendingSettlement::of(delivery, Settlement::Kind::kRelease));
  }
  if (!pending_settlements.empty()) settle(pending_settlements);
}

void SourceSet::settle_open() {
  for (const auto& entry : sources_) {
    const system::MutexLock lock(entry->mutex);
    (void)tell(*entry);
  }
}

Result<void> SourceSet::settle_rows() {
  for (const auto& entry : sources_) {
    if (!entry->source->traits().in_store) continue;
    const system::MutexLock lock(entry->mutex);
    if (auto told = tell(*entry); !told) return told;
  }
  return {};
}

Result<void> SourceSet::tell(Entry& entry) {
  if (entry.closed) entry.open.clear();
  if (entry.open.empty() || options_.dry_run) return {};
  auto told = entry.source->settle(entry.open);
  if (told) entry.open.clear();
  return told;
}

void SourceSet::extend(const std::set<SourceTag>& but) {
  const TimePoint now = environment_.clock->now();
  for (std::uint32_t index = 0; index < sources_.size(); ++index) {
    const auto& entry = sources_[index];
    if (!entry->source->traits().redelivers) continue;
    std::vector<Tag> tags;
    bool any = false;
    {
      const system::MutexLock lock(entry->mutex);
      if (entry->closed || now - entry->extended < options_.hidden / 3) continue;
      entry->extended = now;
      any = !entry->in_flight.empty();
      for (const Tag& tag : entry->in_flight) {
        if (!but.contains({index, tag})) tags.push_back(tag);
      }
    }
    // A row that could not be extended may be delivered twice; its record then shows the duplicate.
    if (any) (void)entry->source->extend(tags, options_.hidden);
  }
}

std::vector<Engine::Figures> SourceSet::figures() {
  std::vector<Engine::Figures> all;
  for (const auto& entry : sources_) {
    auto figures = entry->source->figures();
    const SourceTraits& traits = entry->source->traits();
    if (figures.empty() && !traits.tells_lag) continue;
    all.push_back({traits.name, std::move(figures), traits.tells_lag});
  }
  return all;
}

void SourceSet::stand_aside(bool aside) noexcept {
  for (const auto& entry : sources_) {
    if (entry->stands_aside != nullptr) entry->stands_aside->stand_aside(aside);
  }
}

void SourceSet::close(milliseconds deadline) {
  for (const auto& entry : sources_) close_one(*entry, deadline);
}

void SourceSet::close_outside(milliseconds deadline) {
  for (const auto& entry : sources_) {
    if (!entry->source->traits().in_store) close_one(*entry, deadline);
  }
}

void SourceSet::close_one(Entry& entry, milliseconds deadline) {
  {
    const system::MutexLock lock(entry.mutex);
    if (entry.closed) return;
    (void)tell(entry);
    entry.closed = true;
  }
  auto closed = entry.source->close(deadline);
  if (!closed) {
    observer_.on_trouble(options_.consumer, entry.source->traits().name, closed.error(), false);
  }
}

std::optional<std::vector<std::string>> SourceSet::unread_in_order() {
  std::vector<std::string> all;
  for (const auto& entry : sources_) {
    const SourceTraits& traits = entry->source->traits();
    if (!comes_unmarked(traits) || traits.answers) continue;
    auto unread = entry->source->unread();
    if (!unread) return std::nullopt;
    std::ranges::move(*unread, std::back_inserter(all));
  }
  return all;
}

bool SourceSet::replays_unmarked() const noexcept {
  return std::ranges::any_of(
      sources_, [](const auto& entry) { return comes_unmarked(entry->source->traits()); });
}

}  // namespace semel::engine
