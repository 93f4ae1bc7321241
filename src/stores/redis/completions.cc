#include "stores/redis/completions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "stores/redis/finisher.h"
#include "stores/redis/held_rows.h"

namespace semel::redis {
namespace {

struct GoingRow {
  RowPlace place;
  std::size_t record;

  bool in_lane_of(const GoingRow& other) const noexcept {
    return place.consumer == other.place.consumer && place.lane == other.place.lane;
  }
};

bool lane_before(const GoingRow& a, const GoingRow& b) noexcept {
  return std::pair(a.place.consumer, a.place.lane) < std::pair(b.place.consumer, b.place.lane);
}

}  // namespace

bool only_completes_or_acks(const Finish& finish) noexcept {
  const bool acks = finish.to == Finish::To::kAckOnly;
  return (acks || finish.to == Finish::To::kCompleted) && finish.outgoing.empty();
}

Completions::Completions(const Names& names, std::span<const Finish> batch, BytesView ttl,
                         unsigned database)
    : database_(database) {
  entries_.reserve(batch.size());
  std::size_t first = 0, bytes = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (i - first >= kMostKeys || bytes > kMostBytes) {
      make_call(names, batch, first, i - first, ttl);
      first = i;
      bytes = 0;
    }
    bytes += weight_of(batch[i]);
  }
  make_call(names, batch, first, batch.size() - first, ttl);
}

void Completions::make_call(const Names& names, std::span<const Finish> batch, std::size_t first,
                            std::size_t count, BytesView ttl) {
  const std::span<const Finish> part = batch.subspan(first, count);
  const auto records = static_cast<std::size_t>(std::ranges::count_if(part, is_leased));
  Call& call = calls_.emplace_back();
  call.arguments.push_back(ttl);
  call.arguments.push_back(std::to_string(records));
  std::vector<GoingRow> rows;
  std::vector<SettledEntry> settled;
  std::size_t record = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Finish& one = part[i];
    const bool leased = is_leased(one);
    if (leased) {
      append_completion(call, names, one);
      ++record;
    }
    entries_.push_back({first + i, calls_.size() - 1, leased ? record : 0});
    if (const auto place = one.ack ? place_of(*one.ack) : std::nullopt) {
      rows.push_back({*place, leased ? record : 0});
    }
    if (const StreamEntry* const entry = entry_settled_here(one, database_)) {
      settled.push_back({entry, leased ? record : 0});
    }
  }
  std::ranges::stable_sort(rows, lane_before);
  for (auto row = rows.begin(); row != rows.end();) {
    const auto end = std::find_if_not(
        row, rows.end(), [&](const GoingRow& other) { return other.in_lane_of(*row); });
    call.arguments.push_back(names.lane(ConsumerNumber{row->place.consumer}, row->place.lane));
    call.arguments.push_back(std::to_string(end - row));
    for (; row != end; ++row) {
      call.arguments.push_back(row->place.number_text());
      call.arguments.push_back(std::to_string(row->record));
    }
  }
  if (settled.empty()) return;
  call.arguments.push_back(BytesView());
  append_entries(call, settled);
}

}  // namespace semel::redis
