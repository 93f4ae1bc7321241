#include "sources/kafka/ledger.h"

#include <algorithm>
#include <utility>

namespace semel::kafka {

void Ledger::handed_out(std::int64_t offset, Kept kept, std::size_t size) {
  bytes_ += size;
  last_ = offset;
  deliveries_.handed_out(static_cast<std::uint64_t>(offset), {std::move(kept), bytes_});
}

const Kept* Ledger::take_given_back() {
  const auto taken = deliveries_.take();
  return taken.value == nullptr ? nullptr : &taken.value->kept;
}

Kept* Ledger::left_behind() {
  for (near_ = std::max(near_, deliveries_.passed()); near_ < deliveries_.end(); ++near_) {
    Part* const part = deliveries_.open_value(near_);
    if (part == nullptr) continue;
    if (bytes_ - part->end <= kMostKept) return nullptr;
    if (part->kept.copy) continue;
    ++near_;
    return &part->kept;
  }
  return nullptr;
}

std::optional<std::chrono::system_clock::time_point> Ledger::oldest_sent() const {
  std::optional<std::chrono::system_clock::time_point> sent;
  deliveries_.each_open([&](const Part& part) {
    sent = part.kept.sent;
    return false;
  });
  return sent;
}

bool Ledger::met_end(std::int64_t offset) noexcept {
  if (offset <= last_ || offset < end_) return false;
  end_ = offset;
  return true;
}

std::int64_t Ledger::position() const noexcept {
  const auto prefix = deliveries_.prefix();
  const std::int64_t next = prefix ? static_cast<std::int64_t>(*prefix) + 1 : begin_;
  return all_settled() ? std::max(next, end_) : next;
}

std::optional<std::int64_t> Ledger::take_commit() {
  if (!to_commit()) return std::nullopt;
  asked_ = position();
  return asked_;
}

bool Ledger::to_commit() const noexcept { return position() > asked_; }

}  // namespace semel::kafka
