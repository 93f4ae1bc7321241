#include "stores/memory/live_records.h"

namespace semel::memory {

std::uint32_t LiveRecords::place_of(const KeyId& id, std::uint32_t hash) const noexcept {
  return index_.find(hash, [&](std::uint32_t place) { return records_[place].id == id; });
}

LiveRecord* LiveRecords::find(const KeyId& id) noexcept {
  const std::uint32_t place = place_of(id, index_.hash(id));
  return place == KeyIndex::kNone ? nullptr : &records_[place];
}

LiveRecord& LiveRecords::insert(const KeyId& id, BytesView key) {
  const std::uint32_t place = records_.take();
  index_.insert(index_.hash(id), place);
  LiveRecord& live = records_[place];
  live.id = id;
  live.key = key;
  live.record.reset();
  live.held.reset();
  return live;
}

void LiveRecords::erase(const KeyId& id) {
  const std::uint32_t hash = index_.hash(id);
  const std::uint32_t place = place_of(id, hash);
  if (place == KeyIndex::kNone) return;
  index_.erase(hash, place);
  records_.give(place);
}

}  // namespace semel::memory
