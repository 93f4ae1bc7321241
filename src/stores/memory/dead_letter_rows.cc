#include "stores/memory/dead_letter_rows.h"

#include <algorithm>

namespace semel::memory {

void DeadLetterRows::keep(DeadLetterRow row) {
  const auto [at, made] = by_key_.try_emplace({row.key_id, row.letter.fingerprint}, last_ + 1);
  row.letter.id = at->second;
  if (made) {
    ++last_;
    ++counts_[row.consumer];
  } else {
    // The existing letter keeps its payload.
    DeadLetter& letter = rows_.at(at->second).letter;
    letter.reason = std::move(row.letter.reason);
    letter.error = std::move(row.letter.error);
    letter.attempts = row.letter.attempts;
    letter.dead_at = row.letter.dead_at;
    return;
  }
  rows_[at->second] = std::move(row);
}

bool DeadLetterRows::add(DeadLetterRow row) {
  if (by_key_.contains({row.key_id, row.letter.fingerprint})) return false;
  const int replayed = row.letter.replayed;
  keep(std::move(row));
  rows_.at(last_).letter.replayed = replayed;
  return true;
}

bool DeadLetterRows::edit(const LetterEdit& edit) {
  DeadLetterRow& row = rows_.at(edit.id);
  const auto [at, made] = by_key_.try_emplace({row.key_id, edit.fingerprint}, edit.id);
  if (!made && at->second != edit.id) return false;
  if (made) by_key_.erase({row.key_id, row.letter.fingerprint});
  if (!row.original) row.original = row.letter.fingerprint;
  row.letter.fingerprint = edit.fingerprint;
  row.letter.payload = edit.payload;
  row.letter.headers = edit.headers;
  return true;
}

DeadLetterRow* DeadLetterRows::find(std::int64_t id) {
  const auto found = rows_.find(id);
  return found == rows_.end() ? nullptr : &found->second;
}

DeadLetterRow* DeadLetterRows::find(const KeyId& key, const Fingerprint& fingerprint) {
  const auto found = by_key_.find({key, fingerprint});
  return found == by_key_.end() ? nullptr : &rows_.at(found->second);
}

bool DeadLetterRows::discard(std::int64_t id) {
  const auto found = rows_.find(id);
  if (found == rows_.end()) return false;
  by_key_.erase({found->second.key_id, found->second.letter.fingerprint});
  --counts_[found->second.consumer];
  rows_.erase(found);
  return true;
}

std::vector<DeadLetter> DeadLetterRows::list(const DeadLetterFilter& filter) const {
  std::vector<DeadLetter> letters;
  for (auto at = rows_.upper_bound(filter.after);
       at != rows_.end() && letters.size() < filter.limit; ++at) {
    const DeadLetter& letter = at->second.letter;
    if (filter.consumer && letter.consumer != *filter.consumer) continue;
    if (filter.reason && letter.reason != *filter.reason) continue;
    letters.push_back(letter);
    if (filter.payloads) continue;
    letters.back().payload.clear();
    letters.back().headers.clear();
  }
  return letters;
}

std::vector<const DeadLetterRow*> DeadLetterRows::next(std::int64_t after, std::size_t most) const {
  std::vector<const DeadLetterRow*> rows;
  for (auto at = rows_.upper_bound(after); at != rows_.end() && rows.size() < most; ++at) {
    rows.push_back(&at->second);
  }
  return rows;
}

std::map<ConsumerNumber, StoreTime> DeadLetterRows::oldest() const {
  std::map<ConsumerNumber, StoreTime> oldest;
  for (const auto& [id, row] : rows_) {
    const auto [at, made] = oldest.try_emplace(row.consumer, row.letter.dead_at);
    if (!made) at->second = std::min(at->second, row.letter.dead_at);
  }
  return oldest;
}

std::size_t DeadLetterRows::count(ConsumerNumber consumer) const {
  const auto found = counts_.find(consumer);
  return found == counts_.end() ? 0 : found->second;
}

}  // namespace semel::memory
