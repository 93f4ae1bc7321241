#include "stores/sql/run_markers.h"

#include <algorithm>
#include <map>

#include "system/mutex.h"

namespace semel::sql {
namespace {

class TableRuns final : public RunMarkers {
 public:
  explicit TableRuns(Database& database) : database_(database) {}

  Result<Begun> begin(ConsumerNumber consumer, std::size_t window) override {
    return contained([&] {
      const system::MutexLock lock(mutex_);
      const std::int64_t instance = database_.instance();
      sweep_gone();
      const auto died = database_.transact(Sync::kPowerLoss, [&](Access& access) {
        RunRows& runs = access.tables().runs;
        const RunRows::Died found = runs.take_died(consumer);
        runs.add_run(instance, consumer, window, access.now());
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
          marked != marked_.end() ? marked->second.instance : database_.instance();
      database_.transact(Sync::kProcessCrash, [&](Access& access) {
        access.tables().runs.remove_run(instance, consumer);
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
      return database_.transact(Sync::kProcessCrash, [&](Access& access) {
        // Not locked: a count says nothing about what becomes of the record meanwhile.
        if (access.records().completed(id)) return 0;
        return access.tables().runs.count_crash(id, access.now());
      });
    });
  }

  Result<void> set_crashes(const Message& message, int crashes) override {
    return contained([&] {
      database_.transact(Sync::kProcessCrash, [&](Access& access) {
        access.tables().runs.set_crashes(message.key().id, crashes);
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
    const std::int64_t instance = database_.instance();
    for (auto& one : marked_) {
      Marked& marked = one.second;
      if (marked.instance == instance) continue;
      database_.transact(Sync::kPowerLoss, [&](Access& access) {
        RunRows& runs = access.tables().runs;
        runs.remove_run(marked.instance, one.first);
        runs.add_run(instance, one.first, marked.window, access.now());
      });
      marked.instance = instance;
    }
  }

  bool sweep_gone() {
    const auto gone = database_.glance([](Access& access) { return access.gone(); });
    std::size_t freed = 0;
    for (const std::int64_t instance : gone) {
      freed += database_.transact(Sync::kProcessCrash,
                                  [&](Access& access) { return free_in(access, instance); });
    }
    return freed > 0;
  }

  // Whoever has the instance's row frees all that it had.
  static std::size_t free_in(Access& access, std::int64_t instance) {
    RunRows& runs = access.tables().runs;
    if (!runs.claim_instance(instance)) return 0;
    // Whoever lost its connection may have taken its lock again since; then it looks for this row.
    const auto gone = access.gone();
    if (std::ranges::find(gone, instance) == gone.end()) return 0;
    std::size_t freed = access.records().free_from(instance, access.now());
    freed += runs.mark_died(instance);
    runs.remove_instance(instance);
    return freed;
  }

  Database& database_;
  system::Mutex mutex_;
  std::map<ConsumerNumber, Marked> marked_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<RunMarkers> make_run_markers(Database& database) {
  return std::make_unique<TableRuns>(database);
}

}  // namespace semel::sql
