// InFlightDeliveries: the deliveries that the engine has received and not yet settled, under one
// mutex.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/source.h>
#include "strategies/strategy.h"

#include "core/line_book.h"
#include "core/order.h"
#include "core/sequencer.h"
#include "engine/batch_size.h"
#include "engine/consumer_gate.h"
#include "system/mutex.h"

namespace semel::engine {

using TimePoint = std::chrono::steady_clock::time_point;

// The result of a batch for one delivery, once its record is durable.
struct PendingSettlement {
  std::uint32_t source = 0;
  Settlement settlement;
  core::LaneName lane;  // of the delivery, which outlives the settlement
  std::size_t bytes = 0;
  std::uint64_t waits_for = 0;  // of the kept delivery: what may end its delay sooner
  core::TrackedDelivery* keep =
      nullptr;                 // bring it again after settlement.delay: its source will not
  bool again = false;          // it comes again, from the source, the store or memory
  bool still_suspect = false;  // it was not tried, and comes again as a suspect
  bool answered = false;       // its slot was freed before, when its call ended
  bool left = false;  // `keep` is a follower that did not run: it comes again without a delay
  std::optional<BytesView> line;  // of the delivery, which outlives the settlement

  // All that its source needs to know.
  static PendingSettlement told(std::uint32_t source, Tag tag, Settlement::Kind kind) {
    PendingSettlement pending;
    pending.source = source;
    pending.settlement = {tag, kind, std::chrono::milliseconds{0}};
    return pending;
  }
  static PendingSettlement of(const core::TrackedDelivery& delivery, Settlement::Kind kind) {
    PendingSettlement pending = told(delivery.arrival.source, delivery.arrival.tag, kind);
    pending.lane = core::LaneName::of(delivery.message);
    pending.bytes = delivery.message.payload().size();
    return pending;
  }
};

class InFlightDeliveries {
 public:
  struct Limits {
    std::size_t messages;
    std::size_t bytes;
    std::size_t running = 0;  // handed out and not landed; 0: no limit
  };
  struct Capacity {
    std::size_t messages;
    std::size_t bytes;
  };

  // The assignment of a source's deliveries, by their tags.
  struct Generation {
    std::uint32_t source;
    std::uint64_t generation;
    auto operator<=>(const Generation&) const = default;
  };

  using OnFailure = core::Order::OnFailure;
  using Question = core::LineBook::Question;

  struct Lines {
    OnFailure on_failure = OnFailure::kSkip;
    bool defers = false;  // all messages from outside are put aside
    // Another process may have stopped any line: messages of a line that come from outside are put
    // aside until the store was asked.
    bool shared = false;
    // Another process may have had a line's partition before, each time that the generation grows.
    bool taken_over = false;
  };

  // `gate`: whether messages may begin; borrowed, null: always.
  InFlightDeliveries(Limits limits, BatchSize batch_size, int workers, ConsumerGate* gate = nullptr,
                     Lines lines = {OnFailure::kSkip, false, false, false})
      : limits_(limits), batch_size_(batch_size), gate_(gate), workers_(workers), lines_(lines) {}

  // Whether batches may have followers (Strategy::takes_followers). Call it before the first take.
  void allow_followers(bool allowed) SEMEL_EXCLUDES(mutex_);

  // How much more may be received now. Nothing where that is less than a batch and two batches
  // wait.
  Capacity capacity() const SEMEL_EXCLUDES(mutex_);
  // Adds deliveries; their messages and bytes count until they land.
  void add(std::vector<core::TrackedDelivery> deliveries) SEMEL_EXCLUDES(mutex_);
  // A refused arrival counts too, until it is stored.
  void add_refused() SEMEL_EXCLUDES(mutex_);
  void drop_refused(std::size_t count) SEMEL_EXCLUDES(mutex_);

  // The next batch; empty where none is ready, suspects must run first, or more messages are
  // expected in a moment. With `wait`, blocks until there is one or this is closed; without
  // workers, until it is crowded.
  std::vector<core::TrackedDelivery> take(bool wait) SEMEL_EXCLUDES(mutex_);
  // More messages wait than one batch takes: worth a second thread.
  bool crowded() const SEMEL_EXCLUDES(mutex_);
  // The call of a delivery, which is marked, is over: another may begin while this one is recorded.
  // Called once for each call, on the user's threads, so it is cheap: it wakes a waiting thread
  // only when several slots are free; look_again wakes it for fewer.
  void answered() SEMEL_EXCLUDES(mutex_);
  // The strategy has returned from a batch, whose deliveries may end later. True: the receiving
  // thread should be woken.
  bool returned() SEMEL_EXCLUDES(mutex_);
  // A batch has ended completely, and all its settlements were passed. True: the receiving thread
  // should be woken. `trial`: of the gate, if the batch was one. `took`: the time of its own work;
  // nullopt: unknown.
  bool ran(std::size_t messages, bool suspect, std::uint64_t trial,
           std::optional<std::chrono::nanoseconds> took) SEMEL_EXCLUDES(mutex_);
  // Frees keys and room. True: the receiving thread should be woken.
  bool land(std::vector<PendingSettlement>& pending_settlements, TimePoint now)
      SEMEL_EXCLUDES(mutex_);

  // Wakes waiting threads: the gate may have changed.
  void look_again() SEMEL_EXCLUDES(mutex_);
  bool gate_is_shut() const;

  // Moves deliveries that are due again to the sequencer; returns when the next will be due.
  std::optional<TimePoint> bring_back(TimePoint now) SEMEL_EXCLUDES(mutex_);
  // Makes every delivery that waits for `waited_for` due now. False if none does.
  bool recall(std::uint64_t waited_for) SEMEL_EXCLUDES(mutex_);

  // These go to other processes. Returns what of them has not begun, and what has come back since
  // the last call without having ended: none of it begins any more.
  std::vector<core::TrackedDelivery> give_away(const std::vector<Generation>& leaving)
      SEMEL_EXCLUDES(mutex_);

  // No batch is handed out any more; returns what had not been, suspects still marked.
  std::vector<core::TrackedDelivery> close() SEMEL_EXCLUDES(mutex_);
  // The same, but others may come and begin.
  std::vector<core::TrackedDelivery> withdraw() SEMEL_EXCLUDES(mutex_);

  // Whether nothing can begin before a running batch ends, whatever comes.
  bool all_taken() const SEMEL_EXCLUDES(mutex_);
  // While it stands still, there is no capacity.
  void stand_still(bool still) SEMEL_EXCLUDES(mutex_);
  // Waits until no batch runs; false at `deadline`.
  bool wait_landed(std::chrono::milliseconds deadline) SEMEL_EXCLUDES(mutex_);

  bool ready() const SEMEL_EXCLUDES(mutex_);
  bool empty() const SEMEL_EXCLUDES(mutex_);
  // Deliveries and refused arrivals that were received and have not landed.
  std::size_t size() const SEMEL_EXCLUDES(mutex_);

  // Where lines are kept, these deliveries of stopped lines are not handed out although they were
  // received. They do not count as room taken.
  struct Aside {
    std::vector<core::TrackedDelivery> rows;  // the store's own: it is to have them back before it
                                              // is asked for more
    std::vector<core::TrackedDelivery>
        followers;  // from outside: to go behind what the store holds of their line
  };
  Aside take_aside() SEMEL_EXCLUDES(mutex_);
  // Puts back followers that could be placed nowhere, before later ones.
  void keep_aside(std::vector<core::TrackedDelivery> followers) SEMEL_EXCLUDES(mutex_);
  // Begins a question about lines; see LineBook.
  Question ask() SEMEL_EXCLUDES(mutex_);
  // Begins a question for more messages. nullopt while rows are aside: they must go back first,
  // because the store counts them as held by this process, and would return the rows behind them.
  std::optional<Question> ask_for_more() SEMEL_EXCLUDES(mutex_);
  void lines_held(const std::vector<Bytes>& lines, Question asked) SEMEL_EXCLUDES(mutex_);
  // Another process may have made a message of any line wait. Until lines_held answers a later
  // question, a message of a line that comes from outside is put aside, as with Lines::shared.
  void forget_lines() SEMEL_EXCLUDES(mutex_);
  // These, all of one line, may run, and so may what was put aside of it since: the store has
  // nothing of it. The returned ones must stay aside: the line has stopped since `asked`.
  std::vector<core::TrackedDelivery> line_free(BytesView line,
                                               std::vector<core::TrackedDelivery> followers,
                                               Question asked) SEMEL_EXCLUDES(mutex_);
  struct Waiting {
    bool rows = false;
    bool followers = false;
    bool moved = false;  // something of a follower's line has gone since it was last asked
    // Worth asking for all: more are remembered than were known to wait, or they were forgotten.
    bool ask_for_all = false;
  };
  Waiting waiting_aside() SEMEL_EXCLUDES(mutex_);

 private:
  bool may_run_now(const core::TrackedDelivery& delivery) const SEMEL_REQUIRES(mutex_);
  bool continues(const core::TrackedDelivery& delivery) const SEMEL_REQUIRES(mutex_);
  bool asks_first(const Arrival& arrival) const SEMEL_REQUIRES(mutex_);
  void add_locked(core::TrackedDelivery&& delivery) SEMEL_REQUIRES(mutex_);
  // Uncounts a delivery that waits no more.
  void remove_waiting(const core::TrackedDelivery& delivery) SEMEL_REQUIRES(mutex_);
  template <class Stays>
  bool reopen_unless(Stays stays) SEMEL_REQUIRES(mutex_);
  void put_aside(std::vector<core::TrackedDelivery> deliveries) SEMEL_REQUIRES(mutex_);
  void put_back(std::vector<core::TrackedDelivery> followers) SEMEL_REQUIRES(mutex_);
  void sort_followers() SEMEL_REQUIRES(mutex_);
  void stop_line(const PendingSettlement& pending) SEMEL_REQUIRES(mutex_);
  void take_back(const PendingSettlement& pending) SEMEL_REQUIRES(mutex_);
  bool leaves(const Arrival& arrival) const SEMEL_REQUIRES(mutex_);
  void withdraw_leaving() SEMEL_REQUIRES(mutex_);
  std::vector<core::TrackedDelivery> withdraw_all() SEMEL_REQUIRES(mutex_);
  ConsumerGate::Admission admission() const;
  bool has_room() const SEMEL_REQUIRES(mutex_);
  std::vector<core::TrackedDelivery> take_locked(ConsumerGate::Admission admitted)
      SEMEL_REQUIRES(mutex_);
  bool crowded_locked() const SEMEL_REQUIRES(mutex_);
  void call_workers() SEMEL_REQUIRES(mutex_);
  bool thin() const SEMEL_REQUIRES(mutex_);
  bool may_take(ConsumerGate::Admission admitted) const SEMEL_REQUIRES(mutex_);
  bool more_comes_soon() const SEMEL_REQUIRES(mutex_);
  std::size_t may_run() const SEMEL_REQUIRES(mutex_);  // how many more

  const Limits limits_;
  mutable system::Mutex mutex_;
  system::CondVar ready_;
  system::CondVar landed_;
  core::Sequencer sequencer_ SEMEL_GUARDED_BY(mutex_);
  BatchSize batch_size_ SEMEL_GUARDED_BY(mutex_);
  std::optional<TimePoint> gathers_until_ SEMEL_GUARDED_BY(mutex_);
  bool followers_ SEMEL_GUARDED_BY(mutex_) = false;
  ConsumerGate* const gate_;
  const int workers_;  // 0: one batch at a time, on any thread that takes it
  const Lines lines_;
  core::LineBook book_ SEMEL_GUARDED_BY(mutex_);
  Aside aside_ SEMEL_GUARDED_BY(mutex_);
  bool aside_moved_ SEMEL_GUARDED_BY(mutex_) = false;
  std::size_t lines_known_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::optional<Question> forgotten_ SEMEL_GUARDED_BY(mutex_);  // the last question before
  struct Later {
    TimePoint due;
    std::uint64_t waits_for;
    core::TrackedDelivery delivery;
  };
  std::deque<Later> later_ SEMEL_GUARDED_BY(mutex_);
  std::set<Generation> leaving_ SEMEL_GUARDED_BY(mutex_);  // while a batch may have some of them
  std::vector<core::TrackedDelivery> given_away_ SEMEL_GUARDED_BY(mutex_);
  std::size_t messages_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::size_t bytes_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::size_t refused_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::size_t suspects_ SEMEL_GUARDED_BY(mutex_) = 0;  // in the sequencer
  int batches_ SEMEL_GUARDED_BY(mutex_) = 0;           // taken and not ended
  int in_strategy_ SEMEL_GUARDED_BY(mutex_) = 0;       // taken and not returned
  bool alone_ SEMEL_GUARDED_BY(mutex_) = false;        // suspects run
  bool closed_ SEMEL_GUARDED_BY(mutex_) = false;
  bool stands_still_ SEMEL_GUARDED_BY(mutex_) = false;
  // Still running for the sequencer, though their calls are over. Grows without the lock.
  std::atomic<std::size_t> answered_{0};
  std::atomic<std::size_t> free_since_{0};  // answered since a batch was taken
  // A thread waits for a batch and was not woken since. Set before that thread looks for a batch,
  // while `answered_` grows before this is read: so one of the two always sees the other.
  std::atomic<bool> waited_for_{false};
};

}  // namespace semel::engine
