// RecentDeliveries: how the last deliveries of this process ended, for the pages that show them.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/key.h>
#include <semel/observer.h>
#include <semel/outcome.h>

#include "base/iso_time.h"
#include "system/mutex.h"

namespace semel::telemetry {

struct EndedDelivery {
  std::uint64_t number = 0;  // grows with each that is kept
  UtcTime at;
  std::string consumer;
  std::optional<KeyId> id;  // nullopt: it had no key, or could not be read
  Bytes key;                // complete unless `key_is_cut`
  bool key_is_cut = false;
  Outcome::Kind outcome = Outcome::Kind::kDone;
  int attempt = 0;             // 0: the handler did not run
  bool closed_before = false;  // dead or parked: its record was in that state already
  std::string reason;
  std::string error;
  std::chrono::milliseconds again_in{0};
  std::optional<UtcTime> completed_at;  // for a duplicate: when its effect was recorded
  std::string partition;
  std::string position;
  std::optional<std::chrono::nanoseconds> took;
};

// Keeps the last deliveries, and only a limited number of each second: done ones have a limit of
// their own, so that they leave room for the others. An ending beyond it costs a clock read, two
// loads and a count. Thread-safe.
class RecentDeliveries final : public Observer {
 public:
  struct Options {
    std::size_t kept = 1'000;
    int done_of_second = 50;
    int others_of_second = 200;
  };
  static constexpr std::size_t kLongestKey = 1'024;

  using Pointer = std::shared_ptr<const EndedDelivery>;

  RecentDeliveries() : RecentDeliveries(Options()) {}
  explicit RecentDeliveries(Options options) : options_(options) {}

  void on_ended(std::string_view consumer, const Delivery& delivery, const Outcome& outcome,
                std::chrono::nanoseconds took) noexcept override;
  void on_refused(std::string_view consumer, const Arrival& arrival, std::string_view reason,
                  std::string_view error) noexcept override;

  // The newest first; `wanted` is called with the lock held.
  template <class Wanted>
  std::vector<Pointer> find(std::size_t most, Wanted wanted) const SEMEL_EXCLUDES(mutex_) {
    std::vector<Pointer> found;
    const system::MutexLock lock(mutex_);
    for (auto at = kept_.rbegin(); at != kept_.rend() && found.size() < most; ++at) {
      if (wanted(**at)) found.push_back(*at);
    }
    return found;
  }
  // The kept deliveries of a record.
  std::vector<Pointer> of(const KeyId& id) const;
  // Endings not kept since the beginning, because too many came in their second.
  std::uint64_t left_out() const noexcept;

 private:
  // How many of the present second were taken. Two threads that begin a second concurrently may
  // take a few more.
  struct Budget {
    std::atomic<std::int64_t> second{0};
    std::atomic<int> taken{0};
    bool take(std::int64_t now, int most) noexcept;
  };

  // Threads count in different ones, so that a burst does not share a cache line.
  struct alignas(64) Count {
    std::atomic<std::uint64_t> endings{0};
  };
  static constexpr std::size_t kCounts = 16;

  void leave_out() noexcept;
  void keep(EndedDelivery ended) SEMEL_EXCLUDES(mutex_);

  const Options options_;
  Budget done_;
  Budget others_;
  std::array<Count, kCounts> left_out_{};
  mutable system::Mutex mutex_;
  std::uint64_t last_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::deque<Pointer> kept_ SEMEL_GUARDED_BY(mutex_);  // oldest first
};

}  // namespace semel::telemetry
