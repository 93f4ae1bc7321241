#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <semel/reason.h>

#include "core/failpoints.h"
#include "engine/running_engine.h"

namespace semel::engine {

namespace {

using std::chrono::milliseconds;

// How long the store may be unavailable before a run with `once` gives up.
constexpr milliseconds kPatienceOfOnce{10'000};
constexpr milliseconds kAskStoreAgain{1'000};
constexpr milliseconds kStep{20};
// After an unclean end, how long a sender may take to ask again: they repeat after seconds, and
// then after hours.
constexpr std::chrono::hours kAskedAgainWithin{24};

strategies::LeaseRenewerOptions renewer_options(const EngineOptions& options,
                                                const EngineParts& parts,
                                                std::function<void(std::size_t)> tick,
                                                std::function<bool()> draining) {
  strategies::LeaseRenewerOptions made;
  made.lease = options.lease;
  made.timeout = options.handler_timeout;
  made.grace = options.grace;
  made.store = parts.store;
  made.clock = parts.environment->clock;
  made.hung = parts.hung;
  made.draining = std::move(draining);
  made.tick = std::move(tick);
  return made;
}

// A dry run settles nothing: a message that waited for an earlier one would wait for ever.
InFlightDeliveries::Lines lines_of(const EngineOptions& options) {
  InFlightDeliveries::Lines lines;
  if (!options.dry_run && options.order) lines.on_failure = options.order->on_failure;
  lines.defers = options.defers && !options.dry_run;
  lines.shared = options.shares_lines;
  lines.taken_over = options.takes_over_lines;
  return lines;
}

}  // namespace

RunningEngine::RunningEngine(EngineOptions options, EngineParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      gate_(gate_options()),
      in_flight_(
          {options_.pace.max_in_flight, options_.pace.max_in_flight_bytes, options_.most_running},
          BatchSize(options_.batch_first, options_.pace.batch_max, options_.pace.batch_target),
          options_.workers, &gate_, lines_of(options_)),
      store_watch_(options_.consumer, *parts_.observer, *parts_.environment->clock),
      sources_({options_.consumer, options_.lease, options_.dry_run, options_.retention,
                options_.age_gate},
               std::move(parts_.sources), *parts_.environment, *parts_.observer, store_watch_),
      intake_({options_.consumer, options_.number, options_.recipe, options_.limits, options_.empty,
               options_.order, options_.copies_to, options_.start_trace},
              *parts_.store, *parts_.observer),
      order_({options_.consumer, options_.number,
              options_.dry_run ? std::optional<core::Order>() : options_.order,
              options_.defers && !options_.dry_run, options_.inbox, options_.copies_to},
             *parts_.store, parts_.front.get(), in_flight_, sources_, *parts_.environment,
             *parts_.observer),
      held_room_(parts_.store->facets().held, options_.number,
                 options_.defers && !options_.dry_run ? options_.pace.max_held : 0),
      renewer_(renewer_options(
          options_, parts_, [this](std::size_t hanging) { tick(hanging); },
          [this] { return stopping(); })),
      // Frees a call's slot as soon as the call is recorded, not only with its whole batch.
      completer_([this] { in_flight_.answered(); }, [this] { in_flight_.look_again(); },
                 [this] { flush_running(); }),
      strategy_(behind_front()),
      give_up_strategy_(parts_.give_up_strategy(services())) {
  in_flight_.allow_followers(strategy_->takes_followers());
}

std::unique_ptr<strategies::Strategy> RunningEngine::behind_front() {
  auto strategy = parts_.strategy(services());
  if (!parts_.front) return strategy;
  return strategies::make_fronted(std::move(strategy), *parts_.front);
}

std::vector<Engine::Figures> RunningEngine::figures() {
  std::vector<Figures> all = sources_.figures();
  if (parts_.front) {
    const auto counts = parts_.front->counts();
    all.push_back({kFrontFigures,
                   {{"answered", {}, static_cast<std::int64_t>(counts.answered), {}},
                    {"asked", {}, static_cast<std::int64_t>(counts.asked), {}}}});
  }
  return all;
}

void RunningEngine::pause() const {
  const TimePoint until = now() + kAskStoreAgain;
  while (!stopping() && !has_ended() && now() < until) std::this_thread::sleep_for(kStep);
}

Ended RunningEngine::run() {
  receiver_ = std::this_thread::get_id();
  begin_marker();
  load_lines();
  std::vector<std::thread> workers;
  // With `workers: 0` one thread is started all the same. When the consumer is crowded, that thread
  // handles messages while this one receives more.
  const int threads = std::max(options_.workers, 1);
  workers.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) workers.emplace_back([this] { work(); });
  receive_until_stopped();
  drain();
  for (std::thread& worker : workers) worker.join();
  // The completer's thread may still be returning from the strategy.
  completer_.end();
  gate_.keep();
  return has_ended() ? static_cast<Ended>(ended_.load()) : Ended::kDrained;
}

void RunningEngine::begin_marker() {
  RunMarkers* runs = parts_.store->facets().runs;
  if (runs == nullptr || options_.dry_run) return;
  // Assume that the store does not answer: then the suspects are left to the next engine, those
  // among them that the store has told of, while the answer was lost.
  suspect_window_ = options_.suspects_first;
  suspects_left_ = true;
  const std::size_t window = std::max(options_.pace.max_in_flight, suspect_window_);
  const auto begun =
      ask_store([&] { return runs->begin(options_.number, window); }, IfRejected::kEnd);
  if (!begun) return;
  suspects_left_ = false;
  if (begun->unclean) suspect_window_ = std::max(suspect_window_, begun->window);
  if (suspect_window_ > 0 && sources_.replays_unmarked()) {
    intake_.suspect_first(suspect_window_, now() + kAskedAgainWithin);
  }
  if (!begun->unclean) return;
  parts_.observer->on_notice(
      options_.consumer,
      "the last run ended uncleanly: what was in flight is counted, and handled first");
}

// Ordering groups with messages in the store must be known before later messages are received.
void RunningEngine::load_lines() {
  // On failure the run has ended, so nothing is received.
  (void)ask_store([&] { return order_.load(); }, IfRejected::kEnd);
}

// Gives back deliveries of partitions that move to another process, before they begin here or are
// stored behind others of their ordering group.
void RunningEngine::give_away() {
  const auto rest = in_flight_.give_away(sources_.take_leaving());
  for (const core::TrackedDelivery& delivery : rest) {
    if (sources_.is_unmarked_suspect(delivery.arrival)) suspects_left_ = true;
  }
  if (!rest.empty()) hand_back(rest);
  order_.look_at_pauses();
}

void RunningEngine::hand_back(const std::vector<core::TrackedDelivery>& rest) {
  for (const core::TrackedDelivery& delivery : rest) {
    // If the message comes back to this process, it is still a suspect.
    if (delivery.arrival.suspect) intake_.suspect_one_more(delivery.arrival.partition);
  }
  sources_.give_back(rest);
}

bool RunningEngine::look_after_order() {
  const TimePoint began = now();
  auto looked = order_.look_after(began);
  if (!looked) note_store(store_away(looked.error()));
  if (looked && order_.take_heard()) note_store({}, began);
  return looked.value_or(false);
}

// Untried suspects leave the end marked unclean, so that the next run handles them first.
void RunningEngine::end_marker(bool suspects_left) {
  RunMarkers* runs = parts_.store->facets().runs;
  if (runs == nullptr || options_.dry_run) return;
  if (suspects_left) {
    left_to_next_ = std::max(options_.pace.max_in_flight, suspect_window_);
    return;
  }
  // If this fails, the marker stays, and the next run is merely more careful.
  (void)runs->end(options_.number);
}

void RunningEngine::receive_until_stopped() {
  while (!stopping() && !has_ended()) {
    give_away();
    bring_back_at_ = in_flight_.bring_back(now());
    look_at_gate();
    // The last settlement may have left a retry in flight: the run is at its end only if nothing
    // was in flight before the sources were asked.
    const bool was_empty = in_flight_.empty();
    bool progress = look_after_order();
    progress = receive(false) || progress;
    progress = keep_refused() || progress;
    look_after_sources();
    if (has_ended()) break;
    if (options_.workers == 0 && !in_flight_.crowded()) {
      std::vector<core::TrackedDelivery> batch = in_flight_.take(false);
      if (!batch.empty()) {
        process_as_receiver(std::move(batch));
        progress = true;
      }
    }
    if (progress) continue;
    if (was_empty && nothing_left()) {
      finish_run(Ended::kFinished);
    } else if (!has_ended()) {
      wait();
    }
  }
}

ConsumerGate::Options RunningEngine::gate_options() {
  ConsumerGate::Options gate;
  gate.consumer = options_.consumer;
  gate.number = options_.number;
  gate.gates = options_.dry_run ? nullptr : parts_.store->facets().gates;
  gate.clock = parts_.environment->clock;
  gate.observer = parts_.observer;
  gate.changed = [this] {
    in_flight_.look_again();
    event_.signal();
  };
  return gate;
}

void RunningEngine::look_at_gate() {
  gate_.look();
  const auto until = gate_.until();
  gate_at_ = until && *until > now() ? until : std::nullopt;
  if (until) in_flight_.look_again();  // the break may be over
  if (!options_.once || !gate_.paused()) return;
  parts_.observer->on_notice(
      options_.consumer, "the consumer is paused, so this run cannot end: semel consumers resume " +
                             options_.consumer);
  finish_run(Ended::kFailed);
}

bool RunningEngine::nothing_left() {
  if (!in_flight_.empty() || in_flight_.gate_is_shut()) return false;
  if (options_.dry_run) return sources_.looked_through();
  if (!options_.once || !sources_.at_end()) return false;
  // Ask this before the last receive, which then sees everything that the upstream has sent.
  if (parts_.upstream_active && parts_.upstream_active()) return false;
  return !receive(true) && in_flight_.empty() && sources_.at_end();
}

void RunningEngine::look_after_sources() {
  // While nothing runs, the renewer's thread sleeps and extends no rows.
  if (options_.dry_run || in_flight_.gate_is_shut()) sources_.extend(rows_that_hang());
  const auto since = sources_.away_since();
  if (!since) return;
  const bool ends = options_.once || options_.dry_run;
  const bool too_long = ends && now() - *since >= kPatienceOfOnce;
  if (options_.fail_on_unavailable || too_long) finish_run(Ended::kUnavailable);
}

// How many more messages may be received from sources outside the store.
std::size_t RunningEngine::room_outside() {
  const TimePoint began = now();
  auto left = held_room_.look(began);
  if (!left) {
    note_store(store_away(left.error()));
    return 0;
  }
  if (held_room_.take_heard()) note_store({}, began);
  if (*left == 0 && !std::exchange(told_of_held_, true)) {
    parts_.observer->on_notice(options_.consumer,
                               fmt::format("the store holds {} messages of the consumer "
                                           "(in_flight.held): its sources rest until some are done",
                                           options_.pace.max_held));
  }
  return *left;
}

bool RunningEngine::receive(bool sure) {
  const InFlightDeliveries::Capacity capacity = in_flight_.capacity();
  if (capacity.messages == 0 || capacity.bytes == 0 || in_flight_.gate_is_shut()) return false;
  if (options_.workers == 0 && in_flight_.ready() && !in_flight_.crowded()) return false;
  const std::optional<InFlightDeliveries::Question> question = order_.ask_for_more();
  if (!question) return false;
  const std::size_t outside = room_outside();
  auto batches = sources_.receive(capacity, options_.pace.batch_max, sure, *question, outside);
  if (!batches) {
    parts_.observer->on_trouble(options_.consumer, "source", batches.error(), false);
    finish_run(Ended::kFailed, std::move(batches.error()));
    return false;
  }
  if (sources_.take_assigned() && options_.takes_over_lines) {
    if (auto loaded = order_.load_again(now()); !loaded) note_store(store_away(loaded.error()));
  }
  for (SourceSet::Batch& batch : *batches) {
    parts_.observer->on_received(options_.consumer, batch.arrivals.size());
    if (!batch.traits->in_store) held_room_.take(batch.arrivals.size());
    failpoint::hit(*parts_.environment, failpoint::kReceived);
    const std::size_t refused_before = intake_.refused();
    in_flight_.add(intake_.take_in(std::move(batch)));
    for (std::size_t i = refused_before; i < intake_.refused(); ++i) in_flight_.add_refused();
  }
  if (intake_.fatal()) {
    Error error{ErrorKind::kRejected, "E031", *intake_.fatal(), {}};
    parts_.observer->on_trouble(options_.consumer, "key", error, false);
    finish_run(Ended::kFailed, std::move(error));
    return false;
  }
  return !batches->empty();
}

bool RunningEngine::keep_refused() {
  if (intake_.refused() == 0) return false;
  if (options_.dry_run) {
    in_flight_.drop_refused(intake_.tell_refused());
    return true;
  }
  if (keep_refused_at_ && now() < *keep_refused_at_) return false;
  auto kept = intake_.keep_refused();
  if (!kept) {
    note_store(store_away(kept.error()));
    keep_refused_at_ = now() + kAskStoreAgain;
    return false;
  }
  note_store({});
  keep_refused_at_.reset();
  std::vector<PendingSettlement> pending_settlements;
  for (const Receiver::Kept& one : *kept) {
    sources_.ended(one.source, one.tag, one.outcome);
    pending_settlements.push_back(PendingSettlement::told(
        one.source, one.tag, one.in_store ? Settlement::Kind::kGone : Settlement::Kind::kAck));
  }
  sources_.settle(pending_settlements);
  in_flight_.drop_refused(pending_settlements.size());
  return true;
}

void RunningEngine::wait() {
  const InFlightDeliveries::Capacity capacity = in_flight_.capacity();
  std::optional<TimePoint> until = bring_back_at_;
  const auto at_latest = [&](std::optional<TimePoint> when) {
    if (when) until = until ? std::min(*until, *when) : when;
  };
  at_latest(keep_refused_at_);
  at_latest(order_.again_at());
  at_latest(gate_at_);
  at_latest(held_room_.again_at());
  const bool shut = in_flight_.gate_is_shut();
  if (shut) at_latest(now() + options_.lease / 3);
  using Listen = SourceSet::Listen;
  Listen listen = held_room_.again_at() ? Listen::kInStore : Listen::kAll;
  if (shut || capacity.messages == 0 || capacity.bytes == 0) listen = Listen::kNone;
  sources_.wait(event_.get(), listen, until);
  event_.drain();
  sources_.settle_open();
}

void RunningEngine::note_store(const Outcome& outcome, std::optional<TimePoint> began) {
  const auto since = store_watch_.note(outcome, began.value_or(now()));
  if (!since) return;
  const bool too_long = options_.once && now() - *since >= kPatienceOfOnce;
  if (options_.fail_on_unavailable || too_long) {
    finish_run(Ended::kUnavailable);
    event_.signal();
  }
}

// While the engine waits for a handler that hangs, the consumer begins nothing in this process. Its
// other messages are released to other processes, since the wait has no known end.
void RunningEngine::leave_to_others() {
  if (left_to_others_.exchange(true)) return;
  tell_of_hung();
  give_back_unbegun();
  note_suspects();
  sources_.close_outside(options_.drain_timeout);
}

void RunningEngine::land_all() {
  const milliseconds step{50};
  for (;;) {
    const TimePoint deadline = now() + options_.drain_timeout;
    while (!in_flight_.wait_landed(step) && now() < deadline && stops_.load() < 2) {
      sources_.extend(rows_that_hang());
    }
    if (in_flight_.wait_landed(milliseconds{0})) break;
    renewer_.stop_all();
    if (in_flight_.wait_landed(options_.grace)) break;
    if (!process_goes_on()) {
      parts_.hung(kHandlerHangs);
      // The host was informed and has not ended the process: the handler still uses these objects.
      while (!in_flight_.wait_landed(step)) {
      }
      break;
    }
    leave_to_others();
    while (!in_flight_.wait_landed(step) && process_goes_on()) sources_.extend(rows_that_hang());
  }
  tell_hung_is_back();
}

void RunningEngine::give_back_unbegun() {
  const std::vector<core::TrackedDelivery> rest = in_flight_.close();
  const auto is_suspect = [this](const core::TrackedDelivery& d) {
    return sources_.is_unmarked_suspect(d.arrival);
  };
  if (std::any_of(rest.begin(), rest.end(), is_suspect)) suspects_left_ = true;
  sources_.give_back(rest);
}

void RunningEngine::note_suspects() {
  if (sources_.at_end()) return;
  if (intake_.suspecting(sources_.unread_in_order())) suspects_left_ = true;
}

// Otherwise the next engine of this process would treat rows that this one still holds as its own,
// and continue with the rows behind them.
void RunningEngine::settle_rows() {
  while (process_goes_on()) {
    const auto told = sources_.settle_rows();
    note_store(told ? Outcome() : store_away(told.error()));
    // An engine that must not wait for the store has no next engine.
    if (told || ended_.load() == static_cast<int>(Ended::kUnavailable)) return;
    const TimePoint until = now() + kAskStoreAgain;
    while (process_goes_on() && now() < until) std::this_thread::sleep_for(kStep);
  }
}

void RunningEngine::drain() {
  sources_.end_intake();
  // That thread has nothing left to do: the receiving thread has left its batch.
  std::thread leaving;
  {
    const system::MutexLock lock(receiver_mutex_);
    leaving = std::move(leaving_);
  }
  if (leaving.joinable()) leaving.join();
  give_back_unbegun();
  land_all();
  give_back_unbegun();
  for (const Receiver::Kept& kept : intake_.give_back()) {
    sources_.settle({PendingSettlement::told(kept.source, kept.tag, Settlement::Kind::kRelease)});
  }
  settle_rows();
  note_suspects();
  sources_.close(options_.drain_timeout);
  failpoint::hit(*parts_.environment, failpoint::kDrained);
  end_marker(suspects_left_);
}

std::unique_ptr<Engine> Engine::create(EngineOptions options, EngineParts parts) {
  return std::make_unique<RunningEngine>(std::move(options), std::move(parts));
}

}  // namespace semel::engine
