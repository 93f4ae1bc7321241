// Tries by rows of a consumer's queue.
#include <utility>

#include "producer/sender.h"

namespace semel::producer {

namespace {

// The limit of one commit.
constexpr std::size_t kMostRows = 1'000;
constexpr std::size_t kMostBytes = 4 << 20;

// The rows from `first` that fit in one commit.
std::vector<OutgoingMessage> next_rows(std::span<const OutgoingMessage* const> messages,
                                       std::size_t first) {
  std::vector<OutgoingMessage> rows;
  std::size_t bytes = 0;
  for (std::size_t i = first; i < messages.size() && rows.size() < kMostRows; ++i) {
    bytes += messages[i]->payload.size();
    if (!rows.empty() && bytes > kMostBytes) break;
    rows.push_back(*messages[i]);
  }
  return rows;
}

}  // namespace

Try try_by(HeldMessages& queue, ConsumerNumber consumer) {
  return [&queue, consumer](std::span<const OutgoingMessage* const> messages, int, Deadline) {
    const auto append = [&](std::span<const OutgoingMessage> rows) {
      auto appended = queue.append(consumer, rows);
      return appended ? TryEnd() : end_of(std::move(appended.error()));
    };
    std::vector<TryEnd> ends;
    while (ends.size() < messages.size()) {
      const std::vector<OutgoingMessage> rows = next_rows(messages, ends.size());
      const TryEnd end = append(rows);
      if (end.kind == TryEnd::Kind::kFinal && rows.size() > 1) {
        // One row may be the cause: repeat them one by one.
        for (const OutgoingMessage& row : rows) ends.push_back(append({&row, 1}));
        continue;
      }
      ends.resize(ends.size() + rows.size(), end);
      if (end.kind != TryEnd::Kind::kAgain) continue;
      // A failure of the store affects all further rows too: they are not tried now.
      TryEnd later = end;
      later.unknown = false;
      ends.resize(messages.size(), later);
    }
    return ends;
  };
}

}  // namespace semel::producer
