// Tally: a run's counts in a memory-mapped file, which survives a SIGKILL.
//
// `semel demo` makes one for each worker that it starts, and reads it after killing the worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <semel/observer.h>

namespace semel::cli {

struct TallyCounts {
  std::atomic<std::uint64_t> received{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<std::uint64_t> duplicates{0};
  std::atomic<std::uint64_t> others{0};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

class Tally final : public Observer {
 public:
  // Creates the file if it is missing. Throws SemelError.
  explicit Tally(const std::string& path);
  ~Tally() override;
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;

  const TallyCounts& counts() const noexcept { return *counts_; }
  TallyCounts& counts() noexcept { return *counts_; }

  void on_received(std::string_view consumer, std::size_t deliveries) noexcept override;
  void on_ended(std::string_view consumer, const Delivery& delivery, const Outcome& outcome,
                std::chrono::nanoseconds took) noexcept override;
  void on_refused(std::string_view consumer, const Arrival& arrival, std::string_view reason,
                  std::string_view error) noexcept override;

 private:
  TallyCounts* counts_;
};

}  // namespace semel::cli
