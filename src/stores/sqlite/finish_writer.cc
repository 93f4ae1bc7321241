#include "stores/sqlite/finish_writer.h"

#include <utility>

namespace semel::sqlite {

Applied FinishWriter::apply(const Finish& finish, StoreTime now) {
  if (!spi::has_lease(finish)) {
    acts_.run<LiveRow>(acts_.plan_without_record(finish, now), finish, now);
    return Applied::kYes;
  }
  if (complete_alone(finish, now)) return Applied::kYes;
  auto live = tables_.live.find(finish.lease->key);
  if (!live) return Applied::kLeaseLost;
  return apply(*live, std::nullopt, finish, now);
}

Applied FinishWriter::apply(LiveRow& live, std::optional<std::int64_t> reserved,
                            const Finish& finish, StoreTime now) {
  const KeyId& id = finish.lease->key;
  std::optional<spi::Record> record = std::move(live.record);
  spi::FinishPlan plan = spi::plan_finish(record, finish, now);
  if (plan.applied == Applied::kLeaseLost) return Applied::kLeaseLost;
  if (plan.record == spi::FinishPlan::RecordAct::kErase) {
    tables_.live.erase(id);
    acts_.release(finish, now);
    return Applied::kYes;
  }
  live.holder.reset();
  live.record = *std::move(record);
  if (finish.to == Finish::To::kCompleted) return complete(id, live, finish, now);
  if (plan.journal == spi::FinishPlan::JournalAct::kNoteGivingUp) live.steps = true;
  // The record has no journal, so none is to be forgotten.
  if (!live.steps) plan.journal = spi::FinishPlan::JournalAct::kNone;
  acts_.run(plan, finish, live, reserved, now);
  tables_.live.save(id, live, now);
  return Applied::kYes;
}

// Most completions: core::plan_completion() then only moves the record.
bool FinishWriter::complete_alone(const Finish& finish, StoreTime now) {
  if (finish.to != Finish::To::kCompleted || finish.inbox || finish.ack) return false;
  const KeyId& id = finish.lease->key;
  Generation& generation = tables_.generations.active(tables_.ttls.of(id.consumer()), now);
  if (!generation.insert_live(id, finish.lease->nonce, now)) return false;
  if (!finish.result.empty()) {
    generation.set_detail(id, tables_.results.add(finish.result), std::nullopt);
  }
  tables_.live.erase(id);
  return true;
}

Applied FinishWriter::complete(const KeyId& id, const LiveRow& live, const Finish& finish,
                               StoreTime now) {
  Generation& generation = tables_.generations.active(tables_.ttls.of(id.consumer()), now);
  std::optional<std::int64_t> inbox = live.inbox;
  if (finish.inbox && finish.keep != nullptr && !inbox) inbox = tables_.inbox.next();
  if (!generation.insert(id, live.record.fingerprint, now, inbox)) return Applied::kLeaseLost;
  completed_in(generation, id, &live, inbox, finish, now);
  return Applied::kYes;
}

void FinishWriter::completed_in(Generation& generation, const KeyId& id, const LiveRow* live,
                                std::optional<std::int64_t> inbox, const Finish& finish,
                                StoreTime now) {
  const bool received = live != nullptr && live->inbox;
  const auto written =
      acts_.end_rows(spi::plan_completion(), finish, live != nullptr ? &live->held : nullptr,
                     {inbox, received}, now);
  if (written) {
    if (written != inbox) generation.set_detail(id, std::nullopt, written);
  } else if (!finish.result.empty()) {
    generation.set_detail(id, tables_.results.add(finish.result), std::nullopt);
  } else if (inbox) {
    generation.set_detail(id, std::nullopt, std::nullopt);
  }
  if (live == nullptr) return;
  tables_.live.erase(id);
  if (live->steps) tables_.steps.forget(id);
}

}  // namespace semel::sqlite
