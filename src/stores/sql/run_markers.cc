#include "stores/sql/run_markers.h"

#include <algorithm>
#include <map>

#include "stores/sql/transacted.h"
#include "system/mutex.h"

namespace semel::sql {
namespace {

class ServerRuns final : public RunMarkers {
 public:
  explicit ServerRuns(const Core& core) : core_(core) {}

  Result<Begun> begin(ConsumerNumber consumer, std::size_t window) override {
    return contained([&] {
      const system::MutexLock lock(mutex_);
      const std::int64_t instance = core_.instances.number();
      sweep_gone();
      const RunRows::Died died = transacted(core_.pool, [&](Work& work) {
        RunRows runs(work.session(), core_.texts.runs);
        const RunRows::Died found = runs.take_died(consumer);
        runs.add_run(instance, consumer, window, work.now());
        return found;
      });
      marked_[consumer] = {instance, window};
      return Begun{died.any, died.window};
    });
  }

  Result<void> end(ConsumerNumber consumer) override {
    return contained([&] {
      const system::MutexLock lock(mutex_);
      const auto marked = marked_.find(consumer);
      const std::int64_t instance =
          marked != marked_.end() ? marked->second.instance : core_.instances.number();
      transacted(core_.pool, [&](Work& work) {
        RunRows(work.session(), core_.texts.runs).remove_run(instance, consumer);
      });
      if (marked != marked_.end()) marked_.erase(marked);
    });
  }

  Result<bool> sweep() override {
    return contained([&] {
      const system::MutexLock lock(mutex_);
      mark_again();
      return sweep_gone();
    });
  }

  Result<int> count_crash(const Message& message) override {
    return contained([&] {
      const KeyId& id = message.key().id;
      return transacted(core_.pool, [&](Work& work) {
        // Not locked: a count says nothing about what becomes of the record meanwhile.
        const auto row = RecordRows(work.session(), core_.texts.records).find(id, Lock::kNone);
        if (row && row->record.state == RecordState::kCompleted) return 0;
        return RunRows(work.session(), core_.texts.runs).count_crash(id, work.now());
      });
    });
  }

  Result<void> set_crashes(const Message& message, int crashes) override {
    return contained([&] {
      transacted(core_.pool, [&](Work& work) {
        RunRows(work.session(), core_.texts.runs).set_crashes(message.key().id, crashes);
      });
    });
  }

 private:
  struct Marked {
    std::int64_t instance = 0;
    std::size_t window = 0;
  };

  // A process that lost its connection counts as gone under its old number, and goes on under
  // another: what it runs must not be missed when it dies, nor count as dead while it lives.
  void mark_again() SEMEL_REQUIRES(mutex_) {
    if (marked_.empty()) return;
    const std::int64_t instance = core_.instances.number();
    for (auto& one : marked_) {
      Marked& marked = one.second;
      if (marked.instance == instance) continue;
      transacted(core_.pool, [&](Work& work) {
        RunRows runs(work.session(), core_.texts.runs);
        runs.remove_run(marked.instance, one.first);
        runs.add_run(instance, one.first, marked.window, work.now());
      });
      marked.instance = instance;
    }
  }

  bool sweep_gone() {
    std::vector<std::int64_t> gone;
    {
      Lent lent(core_.pool);
      gone = core_.instances.gone(*lent);
    }
    std::size_t freed = 0;
    for (const std::int64_t instance : gone) {
      freed += transacted(core_.pool, [&](Work& work) { return free_in(work, instance); });
    }
    return freed > 0;
  }

  // Whoever has the instance's row frees all that it had.
  std::size_t free_in(Work& work, std::int64_t instance) const {
    Tables tables = core_.tables(work.session());
    if (!tables.runs.claim_instance(instance)) return 0;
    // Whoever lost its connection may have taken its lock again since; then it looks for this row.
    const auto gone = core_.instances.gone(work.session());
    if (std::ranges::find(gone, instance) == gone.end()) return 0;
    std::size_t freed = tables.records.end_leases(instance, work.now());
    freed += static_cast<std::size_t>(tables.held.show_again(instance, work.now()));
    freed += tables.runs.mark_died(instance);
    tables.runs.remove_instance(instance);
    return freed;
  }

  const Core core_;
  system::Mutex mutex_;
  std::map<ConsumerNumber, Marked> marked_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<RunMarkers> make_run_markers(const Core& core) {
  return std::make_unique<ServerRuns>(core);
}

}  // namespace semel::sql
