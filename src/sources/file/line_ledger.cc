#include "sources/file/line_ledger.h"

#include <algorithm>

namespace semel::sources {

LineLedger::Entry* LineLedger::find(std::uint64_t end) {
  const auto at = std::lower_bound(
      entries_.begin(), entries_.end(), end,
      [](const Entry& entry, std::uint64_t wanted) { return entry.line.span.end < wanted; });
  return at == entries_.end() || at->line.span.end != end ? nullptr : &*at;
}

void LineLedger::handed_out(const Line& line) {
  tracker_.received(line.span.end);
  entries_.push_back({line, Entry::State::kOut});
}

void LineLedger::settled(Entry& entry) {
  entry.state = Entry::State::kSettled;
  tracker_.settled(entry.line.span.end);
  const auto prefix = tracker_.prefix();
  while (prefix && !entries_.empty() && entries_.front().line.span.end <= *prefix) {
    last_ = entries_.front().line;
    entries_.pop_front();
  }
}

bool LineLedger::settle(std::uint64_t end) {
  Entry* entry = find(end);
  if (entry == nullptr || entry->state != Entry::State::kOut) return false;
  settled(*entry);
  return true;
}

bool LineLedger::give_back(std::uint64_t end) {
  Entry* entry = find(end);
  if (entry == nullptr || entry->state != Entry::State::kOut) return false;
  entry->state = Entry::State::kGivenBack;
  ++given_back_;
  return true;
}

std::optional<LineLedger::Line> LineLedger::take_given_back() {
  if (given_back_ == 0) return std::nullopt;
  for (Entry& entry : entries_) {
    if (entry.state != Entry::State::kGivenBack) continue;
    entry.state = Entry::State::kOut;
    --given_back_;
    return entry.line;
  }
  return std::nullopt;
}

void LineLedger::drop(std::uint64_t end) {
  if (Entry* entry = find(end); entry != nullptr) settled(*entry);
}

}  // namespace semel::sources
