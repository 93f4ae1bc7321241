// Instance: one store of one process, as others know it.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <semel/bytes.h>
#include <semel/environment.h>
#include <semel/lease.h>

namespace semel::redis {

// Drawn at random. Its name stands in each nonce it draws and with each row it hides: what a
// process holds that is gone is known by that, and no list of it has to be kept. Any thread.
class Instance {
 public:
  static constexpr std::size_t kSize = 8;

  explicit Instance(Random& random);

  // Of kSize bytes.
  Bytes name() const;
  // Another name, after others took it for gone.
  void rename();
  Nonce draw_nonce();

  // Those that are gone, of late: their names, one behind the other. A claim needs them.
  Bytes gone() const;
  void set_gone(Bytes names);

 private:
  Random& random_;
  mutable std::mutex mutex_;
  Bytes name_;
  Bytes gone_;
};

}  // namespace semel::redis
