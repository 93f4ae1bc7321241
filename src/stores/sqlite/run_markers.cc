// RunMarkers over the tables and the locks beside them.
#include "stores/sqlite/core.h"

namespace semel::sqlite {
namespace {

class Runs final : public RunMarkers {
 public:
  explicit Runs(Core& core) : core_(core) {}

  Result<Begun> begin(ConsumerNumber consumer, std::size_t window) override {
    return contained([&] {
      const std::int64_t instance = core_.instances.number();
      core_.instances.sweep();
      WriteTransaction transaction(core_.writer, Sync::kPowerLoss, core_.options.busy);
      RunRows& runs = transaction.tables().runs;
      const RunRows::Died died = runs.take_died(consumer);
      runs.add_run(instance, consumer, window, transaction.now());
      transaction.commit();
      return Begun{died.any, died.window};
    });
  }

  Result<void> end(ConsumerNumber consumer) override {
    return contained([&] {
      const std::int64_t instance = core_.instances.number();
      WriteTransaction transaction(core_.writer, Sync::kProcessCrash, core_.options.busy);
      transaction.tables().runs.remove_run(instance, consumer);
      transaction.commit();
    });
  }

  Result<bool> sweep() override {
    return contained([&] { return core_.instances.sweep(); });
  }

  Result<int> count_crash(const Message& message) override {
    return contained([&] {
      WriteTransaction transaction(core_.writer, Sync::kProcessCrash, core_.options.busy);
      Tables& tables = transaction.tables();
      if (tables.generations.having(message.key().id) != nullptr) return 0;
      const int count = tables.runs.count_crash(message.key().id, transaction.now());
      transaction.commit();
      return count;
    });
  }

  Result<void> set_crashes(const Message& message, int crashes) override {
    return contained([&] {
      WriteTransaction transaction(core_.writer, Sync::kProcessCrash, core_.options.busy);
      transaction.tables().runs.set_crashes(message.key().id, crashes);
      transaction.commit();
    });
  }

 private:
  Core& core_;
};

}  // namespace

std::unique_ptr<RunMarkers> make_run_markers(Core& core) { return std::make_unique<Runs>(core); }

}  // namespace semel::sqlite
