// Instance: one opened store of one process, identified to others.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <semel/bytes.h>
#include <semel/environment.h>
#include <semel/spi/lease.h>

#include "system/mutex.h"

namespace semel::redis {

// Named at random. The name is in each nonce it draws and with each row it hides: that identifies
// what a dead process holds, and no list of it is needed. Thread-safe.
class Instance {
 public:
  static constexpr std::size_t kSize = 8;

  explicit Instance(Random& random);

  // The name has kSize bytes.
  Bytes name() const;
  // Takes another name, after others took it for dead.
  void rename() SEMEL_EXCLUDES(mutex_);
  Nonce draw_nonce() SEMEL_EXCLUDES(mutex_);

  // The concatenated names of instances found dead lately. A claim needs them.
  Bytes gone() const SEMEL_EXCLUDES(mutex_);
  void set_gone(Bytes names) SEMEL_EXCLUDES(mutex_);

 private:
  Random& random_;
  mutable system::Mutex mutex_;
  Bytes name_ SEMEL_GUARDED_BY(mutex_);
  Bytes gone_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::redis
