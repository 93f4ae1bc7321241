// TrialStore: opens the store of a trial's config, and the queue of its one consumer.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <semel/error.h>
#include <semel/spi/held_messages.h>
#include <semel/spi/store.h>

#include "config/config.h"

namespace semel::cli::demo {

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw SemelError(std::move(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Throws SemelError on every failure. Thread-safe.
class TrialStore {
 public:
  explicit TrialStore(const std::string& config);

  const config::Config& config() const noexcept { return config_; }
  void append(std::span<const OutgoingMessage> messages) const;
  std::vector<Arrival> take(std::size_t most, std::size_t most_bytes,
                            std::chrono::milliseconds hidden) const;
  void remove(std::span<const RowTag> rows) const;
  // Counts the rows of the queue, hidden ones included.
  std::size_t depth() const;
  // Counts the messages that wait for a person.
  std::size_t parked() const;

 private:
  config::Config config_;
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
};

}  // namespace semel::cli::demo
