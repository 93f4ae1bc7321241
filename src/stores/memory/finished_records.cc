#include "stores/memory/finished_records.h"

#include <utility>

namespace semel::memory {

std::uint32_t FinishedRecords::place_of(const KeyId& id) const noexcept {
  return index_.find(index_.hash(id),
                     [&](std::uint32_t place) { return records_[place].id == id; });
}

bool FinishedRecords::contains(const KeyId& id) const noexcept {
  return place_of(id) != KeyIndex::kNone;
}

const FinishedDetail* FinishedRecords::detail(const KeyId& id) const {
  const std::uint32_t place = place_of(id);
  if (place == KeyIndex::kNone || !records_[place].detailed) return nullptr;
  return &details_.at(place);
}

std::optional<spi::Record> FinishedRecords::find(const KeyId& id, bool want_result) const {
  const std::uint32_t place = place_of(id);
  if (place == KeyIndex::kNone) return std::nullopt;
  const FinishedRecord& finished = records_[place];
  std::optional<spi::Record> record(std::in_place);
  record->state = finished.dead ? RecordState::kDead : RecordState::kCompleted;
  record->fingerprint = finished.fingerprint;
  record->completed_at = finished.finished_at;
  if (finished.detailed && (finished.dead || want_result)) {
    const FinishedDetail& detail = details_.at(place);
    record->result = detail.result;
    record->reason = detail.reason;
    record->error = detail.error;
    record->attempt = detail.attempt;
    record->token = detail.token;
    record->outcome_unknown = detail.outcome_unknown;
    record->first_seen = detail.first_seen;
  }
  return record;
}

void FinishedRecords::add(const KeyId& id, BytesView key, spi::Record& record, StoreTime now) {
  const std::uint32_t place = records_.take();
  index_.insert(index_.hash(id), place);
  const bool dead = record.state == RecordState::kDead;
  const bool detailed = dead || !record.result.empty() || !record.reason.empty();
  Line& line = lines_[id.consumer()];
  records_[place] = {id, record.fingerprint, now, line.newest, KeyIndex::kNone, dead, detailed};
  if (line.newest != KeyIndex::kNone) records_[line.newest].newer = place;
  if (line.oldest == KeyIndex::kNone) line.oldest = place;
  line.newest = place;
  ++line.size;
  if (dead) ++line.dead;
  if (detailed) {
    details_[place] = {Bytes(key),
                       std::move(record.result),
                       std::move(record.reason),
                       std::move(record.error),
                       record.attempt,
                       record.token,
                       record.outcome_unknown,
                       record.first_seen};
  }
}

void FinishedRecords::drop(std::uint32_t place) {
  const FinishedRecord& record = records_[place];
  Line& line = lines_[record.id.consumer()];
  (record.older == KeyIndex::kNone ? line.oldest : records_[record.older].newer) = record.newer;
  (record.newer == KeyIndex::kNone ? line.newest : records_[record.newer].older) = record.older;
  --line.size;
  if (record.dead) --line.dead;
  if (record.detailed) details_.erase(place);
  index_.erase(index_.hash(record.id), place);
  records_.give(place);
}

void FinishedRecords::set_fingerprint(const KeyId& id, const Fingerprint& fingerprint) {
  const std::uint32_t place = place_of(id);
  if (place != KeyIndex::kNone) records_[place].fingerprint = fingerprint;
}

bool FinishedRecords::erase(const KeyId& id) {
  const std::uint32_t place = place_of(id);
  if (place == KeyIndex::kNone) return false;
  drop(place);
  return true;
}

bool FinishedRecords::forget_oldest() {
  std::uint32_t oldest = KeyIndex::kNone;
  for (const auto& [consumer, line] : lines_) {
    if (line.oldest == KeyIndex::kNone) continue;
    if (oldest == KeyIndex::kNone ||
        records_[line.oldest].finished_at < records_[oldest].finished_at) {
      oldest = line.oldest;
    }
  }
  if (oldest == KeyIndex::kNone) return false;
  drop(oldest);
  return true;
}

const FinishedRecord* FinishedRecords::expired(ConsumerNumber consumer, std::optional<KeyId> behind,
                                               std::chrono::milliseconds ttl, StoreTime now) const {
  const auto line = lines_.find(consumer);
  if (line == lines_.end()) return nullptr;
  const std::uint32_t place = behind ? records_[place_of(*behind)].newer : line->second.oldest;
  if (place == KeyIndex::kNone || now - records_[place].finished_at < ttl) return nullptr;
  return &records_[place];
}

std::size_t FinishedRecords::count(ConsumerNumber consumer) const {
  const auto line = lines_.find(consumer);
  return line == lines_.end() ? 0 : line->second.size;
}

std::size_t FinishedRecords::count_dead(ConsumerNumber consumer) const {
  const auto line = lines_.find(consumer);
  return line == lines_.end() ? 0 : line->second.dead;
}

}  // namespace semel::memory
