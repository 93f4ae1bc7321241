#include "compose/letter_expiry.h"

#include <utility>

namespace semel::compose {

namespace {

// The most letters that one call examines, and removes in one transaction.
constexpr std::size_t kLettersAtOnce = 100;

}  // namespace

Result<LetterExpiry> LetterExpiry::of(Store& store,
                                      std::span<const config::ConsumerConfig> consumers) {
  const StoreFacets facets = store.facets();
  LetterExpiry made(facets.records == nullptr ? nullptr : facets.dead_letters);
  if (made.letters_ == nullptr) return made;
  for (const config::ConsumerConfig& consumer : consumers) {
    if (!consumer.dead_letters_expire) continue;
    const auto number = facets.records->consumer(consumer.name);
    if (!number) return failure(number.error());
    if (!*number) continue;
    made.names_.push_back(consumer.name);
    made.lives_.push_back({**number, *consumer.dead_letters_expire});
  }
  return made;
}

Result<bool> LetterExpiry::run(std::chrono::milliseconds budget, const Told& told) {
  if (letters_ == nullptr || lives_.empty()) return false;
  const auto end = std::chrono::steady_clock::now() + budget;
  do {
    auto part = letters_->expire(lives_, after_, kLettersAtOnce);
    if (!part) return failure(std::move(part.error()));
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (part->removed[i] > 0) told(names_[i], part->removed[i]);
    }
    after_ = part->next;
    if (after_ == 0) return false;
  } while (std::chrono::steady_clock::now() < end);
  return true;
}

}  // namespace semel::compose
