#include "stores/sql/batch_finish.h"

#include <algorithm>
#include <set>
#include <utility>

namespace semel::sql {
namespace {

using To = Finish::To;

// It changes only its record's row.
bool only_completes(const Finish& finish) noexcept {
  return finish.lease && finish.to == To::kCompleted && !finish.inbox;
}

}  // namespace

bool completes_alone(const Finish& finish) noexcept {
  return only_completes(finish) && !finish.ack && finish.outgoing.empty();
}

bool stands_since_claim(std::span<const Finish> batch, ClaimedKeys& claims,
                        std::vector<ManyRecords::Kept>& kept) {
  kept.clear();
  return std::ranges::all_of(batch, [&](const Finish& finish) {
    if (!finish.lease || finish.to != To::kCompleted || finish.ack) return false;
    if (!finish.outgoing.empty()) return false;
    const Claimed* const claimed = claims.find(finish.lease->key);
    if (claimed == nullptr || claimed->finished || claimed->live) return false;
    if (!claimed->inbox) return !finish.inbox && finish.result.empty();
    if (!finish.inbox || finish.keep == nullptr) return false;
    kept.push_back({*claimed->inbox, finish.keep, finish.result});
    return true;
  });
}

StoreTime BatchFinish::now() {
  if (!now_) now_ = session_.now();
  return *now_;
}

// All claims of a unit are made at one time.
StoreTime BatchFinish::claimed_at(const Claimed& claimed) {
  if (claimed.at != StoreTime{}) return claimed.at;
  if (!claimed_at_) {
    const auto row = tables_.records.find(claimed.id, Lock::kNone);
    claimed_at_ = row ? row->record.completed_at : now();
  }
  return *claimed_at_;
}

// All ways but kByItself carry out, for many at a time, what spi::plan_completion and
// spi::plan_without_record plan for such a Finish.
BatchFinish::One::Way BatchFinish::way_of(const One& one) const {
  using Way = One::Way;
  const Finish& finish = *one.finish;
  if (one.claimed != nullptr) {
    if (one.claimed->finished) return Way::kOver;
    const bool whole = finish.to == To::kCompleted && !one.claimed->live;
    return whole ? Way::kClaimed : Way::kByItself;
  }
  if (only_completes(finish)) return Way::kLeased;
  const bool ack = finish.to == To::kAckOnly || (finish.to == To::kCompleted && !finish.lease);
  return ack && !finish.inbox ? Way::kAck : Way::kByItself;
}

std::vector<Applied> BatchFinish::run(std::span<const Finish> batch) {
  all_.clear();
  applied_.assign(batch.size(), Applied::kYes);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    One one{&batch[i], nullptr, {}};
    if (claims_ != nullptr && one.finish->lease && one.finish->to != To::kAckOnly) {
      one.claimed = claims_->find(one.finish->lease->key);
    }
    one.way = way_of(one);
    if (one.way == One::Way::kOver) applied_[i] = Applied::kLeaseLost;
    if (one.claimed != nullptr) one.claimed->finished = true;
    all_.push_back(one);
  }
  lock_leased();
  complete_leased();
  lock_others();
  remove_rows();
  end_claimed();
  end_others();
  send();
  return std::move(applied_);
}

// Sends the outgoing messages of those that were applied.
void BatchFinish::send() {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Finish& finish = *all_[i].finish;
    if (applied_[i] == Applied::kYes && !finish.outgoing.empty()) {
      finish_writer_.acts().send(finish, now());
    }
  }
}

// A unit has had its records locked since its claim.
void BatchFinish::lock_leased() {
  if (claims_ != nullptr) return;
  std::vector<KeyId> records;
  std::size_t together = 0;
  for (const One& one : all_) {
    if (!spi::has_lease(*one.finish)) continue;
    records.push_back(one.finish->lease->key);
    if (one.way == One::Way::kLeased) ++together;
  }
  if (together == 0 || together == records.size()) return;
  std::ranges::sort(records);
  records_.lock(records);
}

std::vector<const Finish*> BatchFinish::take_leased() {
  std::vector<One*> sorted;
  for (One& one : all_) {
    if (one.way == One::Way::kLeased) sorted.push_back(&one);
  }
  std::ranges::stable_sort(sorted, {}, [](const One* one) { return one->finish->lease->key; });
  std::vector<const Finish*> leased;
  leased.reserve(sorted.size());
  for (One* const one : sorted) {
    if (!leased.empty() && leased.back()->lease->key == one->finish->lease->key) {
      one->way = One::Way::kByItself;
    } else {
      leased.push_back(one->finish);
    }
  }
  return leased;
}

void BatchFinish::complete_leased() {
  const std::vector<const Finish*> leased = take_leased();
  if (leased.empty()) return;
  std::vector<KeyId> done = records_.complete(leased);
  std::ranges::sort(done);
  for (One& one : all_) {
    if (one.way != One::Way::kLeased) continue;
    // Another holder has it by now, or something is kept with it.
    if (!std::ranges::binary_search(done, one.finish->lease->key)) one.way = One::Way::kByItself;
  }
}

void BatchFinish::lock_others() {
  std::vector<const One*> others;
  for (const One& one : all_) {
    if (one.way == One::Way::kByItself) others.push_back(&one);
  }
  // The rows of the others are locked together when they are removed.
  if (others.empty()) return;
  std::ranges::stable_sort(others, {}, [](const One* one) {
    return spi::has_lease(*one->finish) ? one->finish->lease->key : KeyId{};
  });
  std::vector<RowTag> rows;
  std::set<ConsumerNumber> lines;
  for (const One* const one : others) {
    if (const auto held = lock_record(*one)) rows.push_back(RowTag{*held});
    const Finish& finish = *one->finish;
    if (finish.to != To::kRetrying || finish.keep == nullptr || finish.arrival == nullptr) continue;
    if (finish.arrival->line) lines.insert(finish.keep->key().id.consumer());
  }
  for (const One& one : all_) {
    if (one.way != One::Way::kOver && one.finish->ack) rows.push_back(*one.finish->ack);
  }
  tables_.held.lock(rows, std::move(lines));
}

// Returns the row that is held for it.
std::optional<std::int64_t> BatchFinish::lock_record(const One& one) {
  if (one.claimed != nullptr) return one.claimed->live ? one.claimed->live->held : std::nullopt;
  if (!spi::has_lease(*one.finish)) return std::nullopt;
  const auto [found, fresh] = found_.try_emplace(one.finish->lease->key);
  if (fresh) found->second = finish_writer_.find(found->first);
  return found->second ? found->second->held : std::nullopt;
}

void BatchFinish::remove_rows() {
  std::vector<RowTag> rows;
  for (const One& one : all_) {
    if (one.way != One::Way::kByItself && one.way != One::Way::kOver && one.finish->ack) {
      rows.push_back(*one.finish->ack);
    }
  }
  if (rows.empty()) return;
  tables_.held.lock(rows);
  const std::set<RowTag> waiting = rows_that_wait();
  std::erase_if(rows, [&](RowTag row) { return waiting.contains(row); });
  for (const auto& gone : tables_.held.take_out(rows)) {
    gone_[static_cast<std::int64_t>(gone.row)] = gone.inbox;
  }
  for (const One& one : all_) {
    if (one.way != One::Way::kAck || !one.finish->ack) continue;
    // The message was received, and turned out to be a duplicate, or was handled.
    const auto gone = gone_.find(static_cast<std::int64_t>(*one.finish->ack));
    if (gone != gone_.end() && gone->second) tables_.inbox.remove(*gone->second);
  }
}

std::set<RowTag> BatchFinish::rows_that_wait() {
  std::map<RowTag, const Finish*> met;
  std::vector<RowTag> rows;
  for (const One& one : all_) {
    if (one.way != One::Way::kAck || !one.finish->ack || !spi::met_only(*one.finish)) continue;
    if (met.emplace(*one.finish->ack, one.finish).second) rows.push_back(*one.finish->ack);
  }
  std::set<RowTag> waiting;
  if (rows.empty()) return waiting;
  for (const TriedRow& tried : tables_.held.tried(rows)) {
    const auto record = finish_writer_.acts().held_for(tried);
    if (!record) continue;
    const auto plan = spi::plan_without_record(*met.at(tried.row), &*record, now());
    if (finish_writer_.acts().waits_on(plan, tried.row)) waiting.insert(tried.row);
  }
  return waiting;
}

// The records are completed since their claim.
void BatchFinish::end_claimed() {
  std::vector<ManyRecords::WithResult> with_results;
  std::vector<ManyRecords::Kept> kept;
  for (const One& one : all_) {
    if (one.way != One::Way::kClaimed) continue;
    const Finish& finish = *one.finish;
    if (finish.inbox && finish.keep != nullptr) {
      std::optional<std::int64_t> received;
      if (finish.ack) {
        const auto gone = gone_.find(static_cast<std::int64_t>(*finish.ack));
        if (gone != gone_.end()) received = gone->second;
      }
      if (received && tables_.inbox.end(*received, finish, true, now())) {
        tables_.records.set_inbox(one.claimed->id, received);
        continue;
      }
      if (one.claimed->inbox) {
        kept.push_back({*one.claimed->inbox, finish.keep, finish.result});
        continue;
      }
    }
    if (one.claimed->inbox) tables_.records.set_inbox(one.claimed->id, std::nullopt);
    if (finish.result.empty()) continue;
    with_results.push_back({one.claimed->id, finish.result});
  }
  if (!kept.empty()) records_.keep(kept);
  if (!with_results.empty()) records_.set_results(with_results);
}

void BatchFinish::end_others() {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const One& one = all_[i];
    if (one.way != One::Way::kByItself) continue;
    if (one.claimed != nullptr) {
      applied_[i] = end_claimed_otherwise(*one.claimed, *one.finish);
    } else {
      applied_[i] = end_leased(*one.finish);
    }
  }
}

Applied BatchFinish::end_leased(const Finish& finish) {
  auto found =
      spi::has_lease(finish) ? found_.extract(finish.lease->key) : decltype(found_)::node_type();
  // The record is missing, or an earlier Finish of the batch has changed it.
  if (found.empty()) return finish_writer_.apply(finish, now());
  if (!found.mapped()) return Applied::kLeaseLost;
  return finish_writer_.apply(*found.mapped(), std::nullopt, finish, now());
}

Applied BatchFinish::end_claimed_otherwise(Claimed& claimed, const Finish& finish) {
  RecordRow row = claimed.live.value_or(RecordRow{});
  if (finish.to == To::kNotStarted) {
    // The record of an earlier attempt stays as it was before the claim.
    if (!claimed.live) tables_.records.erase(claimed.id);
    finish_writer_.acts().release(finish, now());
    return Applied::kYes;
  }
  if (!claimed.live) {
    row.record.fingerprint = claimed.fingerprint;
    row.record.first_seen = claimed_at(claimed);
    row.record.attempt = 1;
    row.key = claimed.key;
  }
  // The transaction is the fence: this record is the unit's, whatever nonce the caller passes.
  row.record.state = RecordState::kConsuming;
  row.record.nonce = finish.lease->nonce;
  return finish_writer_.apply(row, claimed.inbox, finish, now());
}

}  // namespace semel::sql
