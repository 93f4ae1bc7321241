// A table of buckets: each name has one bucket, in which the oldest entry makes room.
#include <semel/front.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "system/mutex.h"

namespace semel {

namespace {

constexpr std::size_t kWays = 8;
constexpr std::size_t kLocks = 64;

class MemoryFront final : public FrontWindow {
 public:
  MemoryFront(const MemoryFrontOptions& options, Clock& clock)
      : clock_(clock), ttl_(options.ttl), buckets_(std::max<std::size_t>(options.entries, 1)) {}

  Result<std::vector<Bytes>> look(std::span<const FrontName> names) override {
    const std::int64_t now = milliseconds_now();
    std::vector<Bytes> found(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Bucket place = place_of(names[i]);
      const system::MutexLock lock(place.mutex);
      for (const Slot& slot : place.slots) {
        if (slot.until <= now || slot.entry.name != names[i]) continue;
        found[i].assign(reinterpret_cast<const char*>(slot.entry.mark.data()),
                        slot.entry.mark.size());
      }
    }
    return found;
  }

  void keep(std::span<const FrontEntry> entries) noexcept override {
    const std::int64_t until = milliseconds_now() + ttl_.count();
    for (const FrontEntry& entry : entries) {
      const Bucket place = place_of(entry.name);
      const system::MutexLock lock(place.mutex);
      Slot* chosen = &place.slots.front();
      for (Slot& slot : place.slots) {
        if (slot.entry.name == entry.name) {
          chosen = &slot;
          break;
        }
        if (slot.until < chosen->until) chosen = &slot;
      }
      *chosen = {entry, until};
    }
  }

  Result<void> check() override { return {}; }

 private:
  struct Slot {
    FrontEntry entry{};
    std::int64_t until = 0;  // 0: free
  };
  // As docs/front.md says.
  static_assert(sizeof(Slot) == 40);
  struct Bucket {
    system::Mutex& mutex;
    std::span<Slot> slots;
  };

  Bucket place_of(const FrontName& name) {
    std::uint64_t word = 0;
    std::memcpy(&word, name.data(), sizeof word);
    const std::size_t ways = std::min(kWays, buckets_.size());
    const std::size_t bucket = word % (buckets_.size() / ways);
    return {locks_[bucket % kLocks], std::span(buckets_).subspan(bucket * ways, ways)};
  }

  std::int64_t milliseconds_now() const noexcept {
    return std::chrono::duration_cast<std::chrono::milliseconds>(clock_.elapsed()).count();
  }

  Clock& clock_;
  const std::chrono::milliseconds ttl_;
  std::array<system::Mutex, kLocks> locks_;
  std::vector<Slot> buckets_;
};

}  // namespace

std::unique_ptr<FrontWindow> make_memory_front(MemoryFrontOptions options) {
  Environment& environment =
      options.environment != nullptr ? *options.environment : system_environment();
  return std::make_unique<MemoryFront>(options, *environment.clock);
}

}  // namespace semel
