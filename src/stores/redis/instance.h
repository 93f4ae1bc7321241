// Instance: one opened store of one process, identified to others.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <semel/bytes.h>
#include <semel/environment.h>
#include <semel/spi/lease.h>

#include "system/mutex.h"

namespace semel::redis {

// Named at random. The name is in each nonce it draws, and its beginning with each row it hides:
// that identifies what a dead process holds, and no list of it is needed. Thread-safe.
class Instance {
 public:
  static constexpr std::size_t kSize = 8;
  // Bytes of the name at the beginning of a take's name. Scripts know this number.
  static constexpr std::size_t kInTake = 5;

  explicit Instance(Random& random);

  // The name has kSize bytes.
  Bytes name() const;
  // Takes another name, after others took it for dead.
  void rename() SEMEL_EXCLUDES(mutex_);
  // How often it was renamed.
  std::size_t renames() const noexcept { return renames_; }
  // Its name now, if the nonce was drawn under a former one; else empty.
  Bytes new_name_for(const Nonce& nonce) const SEMEL_EXCLUDES(mutex_);
  // The nonce as scripts compare it. Since a renewal puts the new name in the place of a former
  // one, a nonce that was drawn under a former one has zeros there.
  Nonce compared(const Nonce& nonce) const SEMEL_EXCLUDES(mutex_);
  Nonce draw_nonce() SEMEL_EXCLUDES(mutex_);
  // The beginnings of the names of its takes: of its name, and of its former ones, in any order.
  Bytes begins_takes() const SEMEL_EXCLUDES(mutex_);
  // The next take, which no other one is named like: kSize bytes, kept with each row it takes.
  Bytes name_take() SEMEL_EXCLUDES(mutex_);

  // The concatenated names of instances found dead lately. A claim needs them.
  Bytes gone() const SEMEL_EXCLUDES(mutex_);
  void set_gone(Bytes names) SEMEL_EXCLUDES(mutex_);

 private:
  Random& random_;
  mutable system::Mutex mutex_;
  Bytes name_ SEMEL_GUARDED_BY(mutex_);
  std::set<Bytes> former_ SEMEL_GUARDED_BY(mutex_);
  std::atomic<std::size_t> renames_{0};
  std::uint32_t takes_ SEMEL_GUARDED_BY(mutex_) = 0;
  Bytes gone_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::redis
