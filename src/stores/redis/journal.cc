#include "stores/redis/journal.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "stores/redis/byte_reader.h"
#include "stores/redis/record.h"

namespace semel::redis {
namespace {

constexpr char kDone = 'D';
constexpr char kUndone = 'U';
// The number of undo tries has those that count in its lower half, as before uncounted ones
// existed.
constexpr int kHalf = 16;
constexpr int kMostTries = (1 << kHalf) - 1;
constexpr int kMostUncounted = (1 << (kHalf - 1)) - 1;

GivingUp note_in(BytesView bytes) {
  ByteReader cut(bytes);
  GivingUp note;
  note.attempts = static_cast<int>(cut.number(4));
  const auto tries = static_cast<std::uint32_t>(cut.number(4));
  note.undo_tries = static_cast<int>(tries & kMostTries);
  note.uncounted_undo_tries = static_cast<int>(tries >> kHalf);
  note.reason = cut.whole_part();
  note.error = cut.rest();
  return note;
}

StepEntry entry_in(BytesView bytes) {
  ByteReader cut(bytes);
  StepEntry entry;
  const BytesView state = cut.bytes(1);
  if (state.empty() || (state[0] != kDone && state[0] != kUndone)) damaged();
  entry.state = state[0] == kDone ? StepEntry::State::kDone : StepEntry::State::kUndone;
  entry.round = static_cast<int>(cut.number(4));
  cut.fill(entry.input.bytes);
  entry.name = cut.whole_part();
  entry.id = cut.whole_part();
  entry.result = cut.rest();
  return entry;
}

// The last entry of each name and id, in their order.
std::vector<StepEntry> last_of_each(std::vector<StepEntry> all) {
  std::map<std::pair<std::string, Bytes>, std::size_t> last;
  for (std::size_t i = 0; i < all.size(); ++i) last[{all[i].name, all[i].id}] = i;
  if (last.size() == all.size()) return all;
  std::vector<StepEntry> left;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (last.at({all[i].name, all[i].id}) == i) left.push_back(std::move(all[i]));
  }
  return left;
}

}  // namespace

StepJournal journal_in(BytesView record) {
  StepJournal journal;
  const RecordState state = decoded(record).state;
  if (record.front() != kJournalFormat) return journal;
  ByteReader cut(record.substr(state == RecordState::kConsuming ? kNonceEnd : kHead));
  cut.whole_part();  // the text of its key
  const BytesView note = cut.whole_part();
  if (!note.empty()) journal.giving_up = note_in(note);
  cut.whole_part();  // reason
  cut.whole_part();  // error
  while (!cut.empty()) journal.entries.push_back(entry_in(cut.whole_part()));
  journal.entries = last_of_each(std::move(journal.entries));
  return journal;
}

Bytes sized_entry(const StepEntry& entry) {
  Bytes body(1, entry.state == StepEntry::State::kDone ? kDone : kUndone);
  append_number(body, static_cast<std::uint32_t>(entry.round), 4);
  body += entry.input.view();
  append_sized(body, entry.name);
  append_sized(body, entry.id);
  body += entry.result;
  Bytes sized;
  append_sized(sized, body);
  return sized;
}

Bytes note_of(const GivingUp& note) {
  Bytes bytes;
  append_number(bytes, static_cast<std::uint32_t>(note.attempts), 4);
  const auto counted = static_cast<std::uint32_t>(std::clamp(note.undo_tries, 0, kMostTries));
  const auto others =
      static_cast<std::uint32_t>(std::clamp(note.uncounted_undo_tries, 0, kMostUncounted));
  append_number(bytes, others << kHalf | counted, 4);
  append_sized(bytes, note.reason);
  bytes += note.error;
  return bytes;
}

}  // namespace semel::redis
