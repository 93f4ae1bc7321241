// StepStore over the state.
#include <algorithm>
#include <utility>

#include <semel/spi/record_machine.h>

#include "stores/memory/state.h"
#include "system/mutex.h"

namespace semel::memory {
namespace {

class MemorySteps final : public StepStore {
 public:
  explicit MemorySteps(State& state) : state_(state) {}

  Result<StepJournal> read(const KeyId& record) override {
    const system::MutexLock lock(state_.mutex);
    const auto found = state_.steps.find(record);
    return found == state_.steps.end() ? StepJournal() : found->second;
  }

  Result<Applied> keep(const Lease& lease, const StepEntry& entry) override {
    const system::MutexLock lock(state_.mutex);
    const LiveRecord* const live = state_.live.find(lease.key);
    if (live == nullptr || !live->record || live->record->nonce != lease.nonce ||
        live->record->state != RecordState::kConsuming) {
      return Applied::kLeaseLost;
    }
    auto& entries = state_.steps[lease.key].entries;
    std::erase_if(entries, [&](const StepEntry& one) {
      return one.name == entry.name && one.id == entry.id;
    });
    entries.push_back(entry);
    return Applied::kYes;
  }

  Result<bool> give_up(const KeyId& record, const GivingUp& note) override {
    const system::MutexLock lock(state_.mutex);
    if (!reopen_record(state_, record, state_.now())) return false;
    state_.steps[record].giving_up = note;
    return true;
  }

 private:
  State& state_;
};

}  // namespace

void note_in_journal(State& state, const spi::FinishPlan& plan, const Finish& finish) {
  using JournalAct = spi::FinishPlan::JournalAct;
  if (plan.journal == JournalAct::kNone) return;
  const KeyId& id = finish.lease->key;
  if (plan.journal == JournalAct::kNoteGivingUp) {
    state.steps[id].giving_up = finish.giving_up;
    return;
  }
  const auto journal = state.steps.find(id);
  if (journal == state.steps.end()) return;
  journal->second.giving_up.reset();
  if (plan.journal == JournalAct::kForget || journal->second.entries.empty()) {
    state.steps.erase(journal);
  }
}

std::unique_ptr<StepStore> make_steps(State& state) { return std::make_unique<MemorySteps>(state); }

}  // namespace semel::memory
