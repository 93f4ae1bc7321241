#include "stores/sql/run_markers.h"

#include <algorithm>
#include <exception>
#include <map>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "system/mutex.h"

namespace semel::sql {
namespace {

// The most to free in one transaction: others wait for its end.
constexpr std::size_t kMostTogether = 16;

// Whether to wait for an instance that another transaction is freeing.
enum class IfBusy { kSkip, kWait };

class TableRuns final : public RunMarkers {
 public:
  explicit TableRuns(Database& database) : database_(database) {}

  Result<Begun> begin(ConsumerNumber consumer, std::size_t window) override {
    return contained([&] {
      Run& run = run_of(consumer);
      const system::MutexLock lock(run.mutex);
      const std::int64_t instance = database_.instance();
      // Dead processes that another thread or process is freeing now count too, and none may be
      // missed.
      const Swept swept = sweep_gone(IfBusy::kWait);
      if (swept.failed) std::rethrow_exception(swept.failed);
      const bool known = run.marked && !run.in_doubt;
      const RunRows::Died died = mark(run, [&](Access& access) {
        RunRows& runs = access.tables().runs;
        RunRows::Died found = runs.take_died(consumer);
        // A mark of its own that it does not know is from a call whose answer was lost: the deaths
        // that it took have been told to nobody.
        const auto unanswered = known ? std::nullopt : runs.window(instance, consumer);
        if (unanswered) found = {true, std::max(found.window, *unanswered)};
        // The next process hears of what this one has heard and may not have handled.
        runs.add_run(instance, consumer, std::max(window, found.window), access.now());
        return found;
      });
      run.marked = Marked{instance, std::max(window, died.window)};
      return Begun{died.any, died.window};
    });
  }

  Result<void> end(ConsumerNumber consumer) override {
    return contained([&] {
      Run& run = run_of(consumer);
      const system::MutexLock lock(run.mutex);
      const std::int64_t instance = run.marked ? run.marked->instance : database_.instance();
      database_.transact(Sync::kProcessCrash, [&](Access& access) {
        access.tables().runs.remove_run(instance, consumer);
      });
      run.marked.reset();
      run.in_doubt = false;
    });
  }

  Result<bool> sweep() override {
    return contained([&] {
      mark_again();
      const Swept swept = sweep_gone(IfBusy::kSkip);
      // An error would hide that something was freed; the next sweep meets the error again.
      if (swept.failed && swept.freed == 0) std::rethrow_exception(swept.failed);
      return swept.freed > 0;
    });
  }

  Result<std::vector<std::optional<int>>> crashes(std::span<const KeyId> keys) override {
    return contained([&] {
      return database_.transact(Sync::kProcessCrash, [&](TransactionAccess& access) {
        // Not locked: a number says nothing about later changes of the record.
        const std::unordered_set<KeyId> completed = access.records().completed(keys);
        const std::vector<int> kept = access.tables().runs.crashes(keys);
        std::vector<std::optional<int>> crashes;
        crashes.reserve(keys.size());
        for (std::size_t i = 0; i < keys.size(); ++i) {
          crashes.push_back(completed.contains(keys[i]) ? std::nullopt : std::optional(kept[i]));
        }
        return crashes;
      });
    });
  }

  Result<std::vector<int>> change_crashes(std::span<const CrashChange> changes) override {
    return contained([&] {
      // All code locks these rows in one order.
      std::vector<CrashChange> sorted(changes.begin(), changes.end());
      std::ranges::sort(sorted, {}, &CrashChange::key);
      std::vector<KeyId> keys;
      keys.reserve(changes.size());
      for (const CrashChange& change : changes) keys.push_back(change.key);
      return database_.transact(Sync::kProcessCrash, [&](TransactionAccess& access) {
        RunRows& runs = access.tables().runs;
        const StoreTime now = access.now();
        for (const CrashChange& change : sorted) runs.change_crashes(change, now);
        return runs.crashes(keys);
      });
    });
  }

 private:
  struct Marked {
    std::int64_t instance = 0;
    std::size_t window = 0;
  };

  // A consumer's run. Its mutex is held while its mark is written, and so never for two consumers.
  struct Run {
    system::Mutex mutex;
    std::optional<Marked> marked SEMEL_GUARDED_BY(mutex);
    bool in_doubt SEMEL_GUARDED_BY(mutex) = false;  // the answer to its last begin() was lost
  };

  struct Swept {
    std::size_t freed = 0;
    std::exception_ptr failed;  // ended the sweep early
  };

  template <class Work>
  RunRows::Died mark(Run& run, Work&& work) SEMEL_REQUIRES(run.mutex) {
    try {
      const RunRows::Died died = database_.transact(Sync::kPowerLoss, work);
      run.in_doubt = false;
      return died;
    } catch (const Failure& failed) {
      run.in_doubt = run.in_doubt || failed.error().kind == ErrorKind::kInDoubt;
      throw;
    }
  }

  Run& run_of(ConsumerNumber consumer) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return runs_[consumer];
  }

  std::vector<std::pair<ConsumerNumber, Run*>> all_runs() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    std::vector<std::pair<ConsumerNumber, Run*>> runs;
    for (auto& [consumer, run] : runs_) runs.emplace_back(consumer, &run);
    return runs;
  }

  // A process that lost its connection counts as gone under its old number, and continues under
  // another: its runs must not be missed when it dies, nor count as dead while it lives.
  void mark_again() {
    for (const auto& [consumer, run] : all_runs()) {
      // It begins or ends just now; the next sweep looks at it.
      if (!run->mutex.try_lock()) continue;
      const system::MutexLock lock(run->mutex, std::adopt_lock);
      if (run->marked) mark_again(consumer, *run->marked);
    }
  }

  void mark_again(ConsumerNumber consumer, Marked& marked) {
    const std::int64_t instance = database_.instance();
    if (marked.instance == instance) return;
    database_.transact(Sync::kPowerLoss, [&](Access& access) {
      RunRows& runs = access.tables().runs;
      runs.remove_run(marked.instance, consumer);
      runs.add_run(instance, consumer, marked.window, access.now());
    });
    marked.instance = instance;
  }

  Swept sweep_gone(IfBusy if_busy) {
    const auto gone = database_.glance([](Access& access) { return access.gone(); });
    const std::size_t most = database_.locks_all() ? kMostTogether : 1;
    Swept swept;
    try {
      for (std::span<const std::int64_t> left = gone; !left.empty();) {
        const auto some = left.first(std::min(most, left.size()));
        swept.freed += database_.transact(Sync::kProcessCrash, [&](TransactionAccess& access) {
          std::size_t freed = 0;
          for (const std::int64_t instance : some) freed += free_in(access, instance, if_busy);
          return freed;
        });
        left = left.subspan(some.size());
      }
    } catch (...) {
      swept.failed = std::current_exception();
    }
    return swept;
  }

  // The transaction that has the instance's row frees all that the instance had.
  static std::size_t free_in(TransactionAccess& access, std::int64_t instance, IfBusy if_busy) {
    RunRows& runs = access.tables().runs;
    const bool mine =
        if_busy == IfBusy::kWait ? runs.await_instance(instance) : runs.claim_instance(instance);
    // A process that lost its connection may have taken its lock again since; then it looks for
    // this row.
    if (!mine || !access.is_gone(instance)) return 0;
    std::size_t freed = access.records().free_from(instance, access.now());
    freed += runs.mark_died(instance);
    runs.remove_instance(instance);
    return freed;
  }

  Database& database_;
  system::Mutex mutex_;
  // None is removed: addresses of elements stay in use.
  std::map<ConsumerNumber, Run> runs_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<RunMarkers> make_run_markers(Database& database) {
  return std::make_unique<TableRuns>(database);
}

}  // namespace semel::sql
