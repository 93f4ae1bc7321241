// Instance: one store of one process, as others know it.
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

// Drawn at random. Its name stands in each nonce it draws and with each row it hides: what a
// process holds that is gone is known by that, and no list of it has to be kept. Any thread.
class Instance {
 public:
  static constexpr std::size_t kSize = 8;

  explicit Instance(Random& random);

  // The name has kSize bytes.
  Bytes name() const;
  // Another name, after others took it for gone.
  void rename() SEMEL_EXCLUDES(mutex_);
  Nonce draw_nonce() SEMEL_EXCLUDES(mutex_);

  // Those that are gone, of late: their names, one behind the other. A claim needs them.
  Bytes gone() const SEMEL_EXCLUDES(mutex_);
  void set_gone(Bytes names) SEMEL_EXCLUDES(mutex_);

 private:
  Random& random_;
  mutable system::Mutex mutex_;
  Bytes name_ SEMEL_GUARDED_BY(mutex_);
  Bytes gone_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::redis
