#include "stores/sqlite/finish_writer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace semel::sqlite {
namespace {

bool only_completes(const Finish& finish) noexcept {
  return finish.lease && finish.to == Finish::To::kCompleted && !finish.inbox && !finish.ack;
}

}  // namespace

std::vector<Applied> FinishWriter::apply(std::span<const Finish> batch, StoreTime now) {
  std::vector<Applied> applied;
  applied.reserve(batch.size());
  const auto told = [&](const Finish& finish, Applied how) {
    applied.push_back(how);
    if (how == Applied::kYes) acts_.send(finish, now);
  };
  while (!batch.empty()) {
    const auto first = batch.first(std::min(batch.size(), Generation::kTogether));
    const bool many =
        first.size() == Generation::kTogether && complete_together(Together(first), now);
    for (const Finish& one : first) told(one, many ? Applied::kYes : apply(one, now));
    batch = batch.subspan(first.size());
  }
  return applied;
}

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
  if (!only_completes(finish)) return false;
  Generation& generation = generation_of(finish, now);
  if (!generation.insert_live(finish.lease->key, finish.lease->nonce, now)) return false;
  completed_alone(generation, finish);
  return true;
}

bool FinishWriter::complete_together(Together finishes, StoreTime now) {
  std::array<const Lease*, Generation::kTogether> leases{};
  Generation* generation = nullptr;
  for (std::size_t i = 0; i < finishes.size(); ++i) {
    if (!only_completes(finishes[i])) return false;
    Generation& its = generation_of(finishes[i], now);
    if (generation != nullptr && generation != &its) return false;
    generation = &its;
    leases[i] = &*finishes[i].lease;
  }
  if (generation->insert_live(leases, now) == leases.size()) {
    for (const Finish& one : finishes) completed_alone(*generation, one);
    return true;
  }
  // Some were not inserted, and the others are undone: each is to be looked at by itself. A record
  // without the lease may be one that another holder has completed.
  for (const Lease* const lease : leases) {
    if (tables_.live.held_by(lease->key, lease->nonce)) generation->erase(lease->key);
  }
  return false;
}

Generation& FinishWriter::generation_of(const Finish& finish, StoreTime now) {
  return tables_.generations.active(tables_.ttls.of(finish.lease->key.consumer()), now);
}

void FinishWriter::completed_alone(Generation& generation, const Finish& finish) {
  const KeyId& id = finish.lease->key;
  if (!finish.result.empty()) {
    generation.set_detail(id, tables_.results.add(finish.result), std::nullopt);
  }
  tables_.live.erase(id);
}

Applied FinishWriter::complete(const KeyId& id, const LiveRow& live, const Finish& finish,
                               StoreTime now) {
  Generation& generation = generation_of(finish, now);
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
