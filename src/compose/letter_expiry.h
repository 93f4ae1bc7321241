// LetterExpiry: removes the expired dead letters of a config's consumers, a part at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <semel/admin/records.h>
#include <semel/result.h>
#include <semel/spi/store.h>

#include "config/config.h"

namespace semel::compose {

class LetterExpiry {
 public:
  using Told = std::function<void(std::string_view consumer, std::size_t letters)>;

  // A consumer that the store does not know has nothing to remove. Borrows the store.
  static Result<LetterExpiry> of(Store& store, std::span<const config::ConsumerConfig> consumers);

  // The consumers whose letters expire.
  [[nodiscard]] const std::vector<std::string>& consumers() const noexcept { return names_; }

  // Removes for at most about `budget`, and reports each consumer that lost some; true where the
  // budget ended before the last letter was looked at: the next call continues there.
  Result<bool> run(std::chrono::milliseconds budget, const Told& told);

 private:
  explicit LetterExpiry(DeadLetters* letters) : letters_(letters) {}

  DeadLetters* letters_;  // null: the store has none
  std::vector<std::string> names_;
  std::vector<LetterLife> lives_;  // of the names
  std::int64_t after_ = 0;
};

}  // namespace semel::compose
