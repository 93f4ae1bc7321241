#include "stores/sql/finish_writer.h"

#include <utility>

namespace semel::sql {

Applied FinishWriter::apply(const Finish& finish, StoreTime now) {
  if (!spi::has_lease(finish)) {
    acts_.run<RecordRow>(acts_.plan_without_record(finish, now), finish, now);
    return Applied::kYes;
  }
  auto row = find(finish.lease->key);
  if (!row) return Applied::kLeaseLost;
  return apply(*row, std::nullopt, finish, now);
}

std::optional<RecordRow> FinishWriter::find(const KeyId& id) {
  return tables_.records.find(id, Lock::kForUpdate);
}

// The journal of a completed record is not read any more; the next purge removes it.
Applied FinishWriter::apply(RecordRow& row, std::optional<std::int64_t> reserved,
                            const Finish& finish, StoreTime now) {
  const KeyId& id = finish.lease->key;
  std::optional<spi::Record> record = std::move(row.record);
  const spi::FinishPlan plan = spi::plan_finish(record, finish, now);
  if (plan.applied == Applied::kLeaseLost) return Applied::kLeaseLost;
  if (plan.record == spi::FinishPlan::RecordAct::kErase) {
    tables_.records.erase(id);
    acts_.release(finish, now);
    return Applied::kYes;
  }
  row.holder.reset();
  row.record = *std::move(record);
  acts_.run(plan, finish, row, reserved, now);
  // The result is in the inbox where there is one.
  if (row.record.state == RecordState::kCompleted && row.inbox) row.record.result.clear();
  tables_.records.save(id, row, now);
  return Applied::kYes;
}

}  // namespace semel::sql
