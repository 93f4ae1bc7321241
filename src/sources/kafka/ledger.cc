#include "sources/kafka/ledger.h"

#include <algorithm>
#include <utility>

namespace semel::kafka {

void Ledger::handed_out(std::int64_t offset, Kept kept, std::size_t size) {
  bytes_ += size;
  ++open_;
  last_ = offset;
  entries_.push_back({offset, bytes_, false, std::move(kept)});
}

Ledger::Entry* Ledger::find(std::int64_t offset) {
  if (entries_.empty() || offset < entries_.front().offset) return nullptr;
  // Mostly no offset is missing, and this is the place.
  const auto place = static_cast<std::size_t>(offset - entries_.front().offset);
  auto found = entries_.end();
  if (place < entries_.size() && entries_[place].offset == offset) {
    found = entries_.begin() + static_cast<std::ptrdiff_t>(place);
  } else {
    found =
        std::lower_bound(entries_.begin(), entries_.end(), offset,
                         [](const Entry& entry, std::int64_t one) { return entry.offset < one; });
  }
  if (found == entries_.end() || found->offset != offset || found->settled) return nullptr;
  return &*found;
}

const Kept* Ledger::take_given_back() {
  if (given_back_.empty()) return nullptr;
  const auto first = given_back_.begin();
  const Entry* const entry = find(*first);
  given_back_.erase(first);
  return &entry->kept;
}

Kept* Ledger::left_behind() {
  while (near_ < entries_.size() && bytes_ - entries_[near_].end > kMostKept) {
    Entry& entry = entries_[near_++];
    if (!entry.settled && !entry.kept.copy) return &entry.kept;
  }
  return nullptr;
}

bool Ledger::settle(std::int64_t offset, Settlement::Kind kind) {
  Entry* const entry = find(offset);
  if (entry == nullptr || (!given_back_.empty() && given_back_.contains(offset))) return false;
  if (kind != Settlement::Kind::kAck && kind != Settlement::Kind::kGone) {
    given_back_.insert(offset);
    return true;
  }
  entry->settled = true;
  entry->kept = {};
  --open_;
  while (!entries_.empty() && entries_.front().settled) {
    next_ = entries_.front().offset + 1;
    entries_.pop_front();
    if (near_ > 0) --near_;
  }
  return true;
}

bool Ledger::met_end(std::int64_t offset) noexcept {
  if (offset <= last_ || offset < end_) return false;
  end_ = offset;
  return true;
}

std::int64_t Ledger::position() const noexcept {
  return entries_.empty() ? std::max(next_, end_) : next_;
}

std::optional<std::int64_t> Ledger::take_commit() {
  if (!to_commit()) return std::nullopt;
  asked_ = position();
  return asked_;
}

bool Ledger::to_commit() const noexcept { return position() > asked_; }

}  // namespace semel::kafka
