// The decisions that all stores share about dead letters that are past their time. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include <semel/admin/records.h>
#include <semel/spi/record_machine.h>

namespace semel::core {

// The index in `lives` of the consumer, if a letter that died at `dead_at` is past its time.
inline std::optional<std::size_t> outlived(std::span<const LetterLife> lives,
                                           ConsumerNumber consumer, StoreTime dead_at,
                                           StoreTime now) {
  const auto life = std::ranges::find(lives, consumer, &LetterLife::consumer);
  if (life == lives.end() || dead_at + life->kept_for > now) return std::nullopt;
  return static_cast<std::size_t>(life - lives.begin());
}

// Whether a replay is handling the letter's message, judging by its record.
inline bool in_hand(RecordState state, const Fingerprint& record, const Fingerprint& letter) {
  return state != RecordState::kDead && state != RecordState::kCompleted &&
         spi::same_fingerprint(record, letter);
}

}  // namespace semel::core
