#include "stores/redis/settled_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace semel::redis {

const StreamEntry* entry_settled_here(const Finish& finish, unsigned database) noexcept {
  if (finish.settles == nullptr || !finish.settles->entry) return nullptr;
  // An undone claim, and a row's ack, say nothing of the delivery.
  if (finish.to == Finish::To::kNotStarted || finish.to == Finish::To::kAckOnly) return nullptr;
  const StreamEntry& entry = *finish.settles->entry;
  return entry.group->database == database ? &entry : nullptr;
}

Applied applied_of(char letter) noexcept {
  if (letter == 'S') return Applied::kYesSettled;
  return letter == '1' ? Applied::kYes : Applied::kLeaseLost;
}

void append_entries(Call& call, std::span<const SettledEntry> settled) {
  if (settled.empty()) return;
  call.life_at = call.arguments.size();
  call.arguments.push_back(BytesView());
  std::vector<SettledEntry> sorted(settled.begin(), settled.end());
  const auto group_of = [](const SettledEntry& one) { return one.entry->group.get(); };
  std::ranges::stable_sort(sorted, std::less<>(), group_of);
  for (auto one = sorted.begin(); one != sorted.end();) {
    const StreamGroup& group = *one->entry->group;
    const auto end = std::find_if(
        one, sorted.end(), [&](const SettledEntry& other) { return group_of(other) != &group; });
    call.arguments.append(
        {group.server, group.stream, group.group, std::to_string(std::distance(one, end))});
    for (; one != end; ++one) {
      call.arguments.push_written([&](Bytes& word) {
        fmt::format_to(std::back_inserter(word), "{}-{}", one->entry->milliseconds,
                       one->entry->sequence);
      });
      call.arguments.push_back(std::to_string(one->answer));
    }
  }
}

}  // namespace semel::redis
