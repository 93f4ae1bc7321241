// LeaseSpans: finds the span of a delivery by its lease, because a finish names only leases.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <unordered_map>

#include <semel/spi/lease.h>
#include <semel/trace.h>

#include "system/mutex.h"

namespace semel::traces {

// Remembers a delivery as long as its message lives, so nothing has to be removed. Thread-safe.
class LeaseSpans {
 public:
  void add(const Lease& lease, const std::shared_ptr<const DeliverySpan>& span)
      SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    if (spans_.size() >= sweep_at_) sweep();
    spans_[lease.nonce] = span;
  }
  // Null: it is not traced.
  std::shared_ptr<const DeliverySpan> find(const Lease& lease) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    const auto found = spans_.find(lease.nonce);
    return found == spans_.end() ? nullptr : found->second.lock();
  }
  std::size_t size() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return spans_.size();
  }

 private:
  static constexpr std::size_t kFirstSweep = 1'024;

  // A nonce is random: any part of it can serve as a hash.
  struct NonceHash {
    std::size_t operator()(const Nonce& nonce) const noexcept {
      std::size_t hash = 0;
      std::memcpy(&hash, nonce.bytes.data(), sizeof hash);
      return hash;
    }
  };
  void sweep() SEMEL_REQUIRES(mutex_) {
    std::erase_if(spans_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = kFirstSweep + 2 * spans_.size();
  }

  system::Mutex mutex_;
  std::unordered_map<Nonce, std::weak_ptr<const DeliverySpan>, NonceHash> spans_
      SEMEL_GUARDED_BY(mutex_);
  std::size_t sweep_at_ SEMEL_GUARDED_BY(mutex_) = kFirstSweep;
};

}  // namespace semel::traces
