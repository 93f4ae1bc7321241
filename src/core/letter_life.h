// Decisions of all stores on dead letters that are past their time. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include <semel/admin/records.h>
#include <semel/spi/record_machine.h>

namespace semel::core {

// The place of the consumer's life in `lives` where a letter that died then is past it.
inline std::optional<std::size_t> outlived(std::span<const LetterLife> lives,
                                           ConsumerNumber consumer, StoreTime dead_at,
                                           StoreTime now) {
  const auto life = std::ranges::find(lives, consumer, &LetterLife::consumer);
  if (life == lives.end() || dead_at + life->kept_for > now) return std::nullopt;
  return static_cast<std::size_t>(life - lives.begin());
}

// Whether a replay has the letter's message in hand, by its record.
inline bool in_hand(RecordState state, const Fingerprint& record, const Fingerprint& letter) {
  return state != RecordState::kDead && state != RecordState::kCompleted &&
         spi::same_fingerprint(record, letter);
}

}  // namespace semel::core
