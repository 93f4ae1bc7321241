#include "compose/letter_turns.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace semel::compose {

Result<void> LetterTurns::look() {
  changed_ = false;
  const auto config = current_();
  std::span<const config::ConsumerConfig> consumers;
  if (config != nullptr) consumers = config->consumers;
  auto letters = LetterExpiry::of(store_, consumers);
  if (!letters) {
    changed_ = true;
    return failure(std::move(letters.error()));
  }
  letters_ = *std::move(letters);
  return {};
}

bool LetterTurns::run(std::chrono::milliseconds budget) {
  if (changed_ && !look()) return false;
  const auto more = letters_->run(budget, [this](std::string_view consumer, std::size_t letters) {
    observer_.on_letters_expired(consumer, letters);
  });
  // One unreadable letter blocks all later ones: it is reported once, not at every turn.
  if (!more && more.error().message != stand_still_) {
    for (const std::string& consumer : letters_->consumers()) {
      observer_.on_notice(
          consumer, fmt::format("dead letters past their time stay: {}", to_string(more.error())));
    }
  }
  stand_still_ = more ? std::string() : more.error().message;
  return more.value_or(false);
}

}  // namespace semel::compose
