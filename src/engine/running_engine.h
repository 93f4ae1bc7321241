// RunningEngine: the engine's state, and the code of its threads. engine.cc receives and drains,
// running_batches.cc runs batches and lands deliveries that ended, suspects.cc runs those of
// suspects, hanging_handlers.cc looks after handlers that do not end.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include <semel/spi/run_markers.h>

#include "engine/batch_sink.h"
#include "engine/completer.h"
#include "engine/engine.h"
#include "engine/held_room.h"
#include "engine/in_flight_deliveries.h"
#include "engine/ordering_buffer.h"
#include "engine/receiver.h"
#include "engine/source_set.h"
#include "engine/store_watch.h"
#include "strategies/lease_renewer.h"
#include "strategies/resolver.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::engine {

inline constexpr char kHandlerHangs[] =
    "a handler does not end, though its time is over and it was asked to stop";
inline constexpr char kHandlerHangsFix[] =
    "look at what it waits for; to end the run, stop it: exit code 70";
// The component whose outage is reported while a drain waits for a handler, or nothing can begin.
inline constexpr std::string_view kHandlerComponent = "handler";

using strategies::store_away;

class RunningEngine final : public Engine, private strategies::Recaller {
 public:
  RunningEngine(EngineOptions options, EngineParts parts);

  Ended run() override;
  std::optional<Error> final_error() const override { return final_error_; }
  std::size_t suspects_left() const override { return left_to_next_; }
  void stop() noexcept override {
    stops_.fetch_add(1, std::memory_order_relaxed);
    event_.signal();
  }
  void nudge() noexcept override { event_.signal(); }
  std::size_t in_flight() const override { return in_flight_.size(); }
  std::vector<Figures> figures() override;

 private:
  // A batch in progress. It lives until each of its deliveries has ended and the strategy has
  // returned; the last of these lands it.
  struct Running {
    Running(RunningEngine& engine, std::vector<core::TrackedDelivery> deliveries);
    RunningEngine& engine;
    std::vector<core::TrackedDelivery> batch;
    const bool suspect;
    const std::uint64_t trial;  // of the gate; zero: none
    const TimePoint began;
    std::atomic<TimePoint> progress;  // the latest of its beginning, endings and waits for others
    std::optional<std::chrono::nanoseconds> took;  // in the strategy; nullopt: unknown
    std::atomic<std::size_t> open;  // deliveries that have not ended, and the strategy
    std::atomic<bool> left{false};  // a follower did not run
    // Suspects whose handlers did not run, or not to the end.
    system::Mutex untried_mutex;
    std::unordered_set<KeyId> untried SEMEL_GUARDED_BY(untried_mutex);
    BatchSink sink;
  };

  strategies::Services services() noexcept { return {&renewer_, &completer_, &gate_, this}; }
  void recall(std::uint64_t waited_for) noexcept override {
    if (in_flight_.recall(waited_for)) event_.signal();
  }
  std::unique_ptr<strategies::Strategy> behind_front();
  void begin_marker();
  void load_lines();
  enum class IfRejected { kEnd, kAskAgain };
  // Repeats `ask` until the store answers or the run has ended; then the error is returned.
  template <class Ask>
  std::invoke_result_t<Ask> ask_store(Ask ask, IfRejected then) {
    std::invoke_result_t<Ask> answer = failure({ErrorKind::kUnavailable, {}, {}, {}});
    while (!answer && !stopping() && !has_ended()) {
      answer = ask();
      note_store(answer ? Outcome() : store_away(answer.error()));
      if (answer) break;
      if (then == IfRejected::kEnd && answer.error().kind == ErrorKind::kRejected) {
        finish_run(Ended::kUnavailable, answer.error());
      }
      pause();
    }
    return answer;
  }
  bool look_after_order();
  void give_away();
  // Releases deliveries that come again, to this process or another.
  void hand_back(const std::vector<core::TrackedDelivery>& rest);
  void end_marker(bool suspects_left);
  void receive_until_stopped();
  bool receive(bool sure);
  std::size_t room_outside();
  bool nothing_left();
  ConsumerGate::Options gate_options();
  void look_at_gate();
  void look_after_sources();
  bool keep_refused();
  void wait();
  void work();
  void process(std::vector<core::TrackedDelivery> batch) SEMEL_EXCLUDES(running_mutex_);
  void process_as_receiver(std::vector<core::TrackedDelivery> batch)
      SEMEL_EXCLUDES(receiver_mutex_);
  void one_less(Running& running) SEMEL_EXCLUDES(running_mutex_);
  void land_rest(Running& running);
  void end_batch(Running& running) SEMEL_EXCLUDES(flush_mutex_, running_mutex_);
  // suspects.cc
  struct SuspectGroup;
  void process_suspects(Running& running) SEMEL_EXCLUDES(running_mutex_);
  enum class Counted { kYes, kOtherwise, kNoAnswer };
  Counted count_group(RunMarkers& runs, const SuspectGroup& group, bool is_trial);
  void process_group(Running& running, const SuspectGroup& group) SEMEL_EXCLUDES(running_mutex_);
  void take_back(RunMarkers& runs, const std::vector<CrashChange>& changes);
  void give_back_untried(Running& running, std::span<core::TrackedDelivery> untried);
  void would_process(std::vector<core::TrackedDelivery> batch);
  PendingSettlement pending_of(core::TrackedDelivery& delivery, Outcome& outcome, TimePoint began,
                               TimePoint ended);
  void land(std::vector<PendingSettlement>& pending_settlements);
  // `hanging`: as LeaseRenewerOptions::tick.
  void tick(std::size_t hanging);
  void flush_running() SEMEL_EXCLUDES(flush_mutex_, running_mutex_);
  // hanging_handlers.cc
  bool hangs(Running& running, TimePoint at) const SEMEL_REQUIRES(running_mutex_);
  std::set<SourceTag> rows_that_hang() SEMEL_EXCLUDES(running_mutex_);
  bool all_hang(std::size_t hanging) SEMEL_EXCLUDES(running_mutex_);
  void tell_of_hung();
  void tell_hung_is_back();
  bool stands_still(std::size_t hanging) SEMEL_EXCLUDES(still_mutex_);
  void go_on() SEMEL_REQUIRES(still_mutex_);
  // `began`: when the store was asked; nullopt: now.
  void note_store(const Outcome& outcome, std::optional<TimePoint> began = std::nullopt);
  void drain();
  void give_back_unbegun();
  // Called before the sources are closed.
  void note_suspects();
  void settle_rows();
  void land_all();
  void leave_to_others();
  void leave_aside() SEMEL_EXCLUDES(receiver_mutex_);
  bool process_goes_on() const { return parts_.process_goes_on && parts_.process_goes_on(); }
  void finish_run(Ended ended) noexcept {
    int running = kRunning;
    ended_.compare_exchange_strong(running, static_cast<int>(ended));
  }
  // Called on the receiving thread only.
  void finish_run(Ended ended, Error error) {
    if (!final_error_) final_error_ = std::move(error);
    finish_run(ended);
  }
  bool has_ended() const noexcept { return ended_.load() != kRunning; }
  // Wakes the receiving thread, which may be waiting for settlements of others.
  void wake_receiver() noexcept {
    if (std::this_thread::get_id() != receiver_) event_.signal();
  }
  // Waits between two questions to a store that is unavailable; a stop ends it.
  void pause() const;
  bool stopping() const noexcept { return stops_.load(std::memory_order_relaxed) > 0; }
  TimePoint now() const { return parts_.environment->clock->now(); }

  const EngineOptions options_;
  EngineParts parts_;
  system::EventFd event_;
  ConsumerGate gate_;
  std::atomic<int> stops_{0};
  InFlightDeliveries in_flight_;
  StoreWatch store_watch_;
  SourceSet sources_;
  Receiver intake_;
  OrderingBuffer order_;
  HeldRoom held_room_;
  bool told_of_held_ = false;  // that the held room is empty was reported
  // No batch is destroyed while this is held.
  system::Mutex flush_mutex_ SEMEL_ACQUIRED_BEFORE(running_mutex_);
  system::Mutex running_mutex_;
  system::CondVar suspect_ended_;
  std::vector<std::unique_ptr<Running>> running_ SEMEL_GUARDED_BY(running_mutex_);
  std::thread::id receiver_;
  system::Mutex receiver_mutex_;
  bool receiver_in_batch_ SEMEL_GUARDED_BY(receiver_mutex_) = false;
  std::thread leaving_ SEMEL_GUARDED_BY(receiver_mutex_);
  system::Mutex still_mutex_;
  bool stands_still_ SEMEL_GUARDED_BY(still_mutex_) = false;
  strategies::LeaseRenewer renewer_;
  ThreadCompleter completer_;
  std::unique_ptr<strategies::Strategy> strategy_;
  std::unique_ptr<strategies::Strategy> give_up_strategy_;
  static constexpr int kRunning = -1;
  std::atomic<int> ended_{kRunning};
  std::optional<Error> final_error_;  // used by the receiving thread only
  std::optional<TimePoint> bring_back_at_;
  std::optional<TimePoint> gate_at_;  // when the gate's time is over
  std::optional<TimePoint> keep_refused_at_;
  std::atomic<bool> suspects_left_{false};  // a suspect was given back untried, or may still come
  std::size_t suspect_window_ = 0;          // at this run's beginning
  std::size_t left_to_next_ = 0;
  std::atomic<bool> told_of_hung_{false};
  std::atomic<bool> left_to_others_{false};
  // Used by the renewer's thread only.
  std::optional<TimePoint> stopping_since_;
  std::optional<TimePoint> hurried_since_;
  bool leaves_aside_ = false;
};

}  // namespace semel::engine
