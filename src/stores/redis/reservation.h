// NameReservation: a name on the server that one process at a time has.
//
// Its value identifies the holder: a nonce, and the session of a connection that lives as long as
// the holder. It has an expiry, which a thread extends; where the server lists its connections, a
// dead holder is detected immediately, else when the expiry is over. So a holder that was cut off
// may coexist with a second one, and learns of it by lost() when it is back: uses of a name must
// tolerate that.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include <semel/environment.h>
#include <semel/spi/run_markers.h>

#include "clients/redis/pool.h"
#include "stores/redis/scripts.h"
#include "system/mutex.h"

namespace semel::redis {

// Thread-safe.
class NameScripts {
 public:
  NameScripts();
  // Keys: the name. Arguments: the holder. Removes the name if that is its value.
  Script release;
  // Keys: the name. Arguments: size of the nonce, the present holder, expiry in ms. Answer: 0 where
  // another one has it.
  Script renew;
};

class NameReservation final : public Positions::Reservation {
 public:
  struct Times {
    std::chrono::milliseconds expiry{30'000};
    std::chrono::milliseconds renew_every{10'000};
    std::chrono::milliseconds again{1'000};  // while the server is unavailable
  };
  // Null where another one has it. Throws core::Failure. `scripts` and `connect` are copied or
  // outlive it.
  static std::unique_ptr<NameReservation> take(std::string name, const Pool::Connect& connect,
                                               std::shared_ptr<NameScripts> scripts, Random& random,
                                               const Times& times);
  ~NameReservation() override;
  NameReservation(const NameReservation&) = delete;
  NameReservation& operator=(const NameReservation&) = delete;

  bool lost() const noexcept override { return lost_; }

 private:
  NameReservation(std::string name, Pool::Connect connect, std::shared_ptr<NameScripts> scripts,
                  Bytes nonce, const Times& times);

  bool try_take();
  bool free_of_the_dead();
  void keep() SEMEL_EXCLUDES(mutex_);
  void renew();
  void release() noexcept;

  const std::string name_;
  const Pool::Connect connect_;
  const std::shared_ptr<NameScripts> scripts_;
  const Bytes nonce_;
  const Times times_;
  std::unique_ptr<Connection> connection_;
  bool refused_ = false;
  std::atomic<bool> lost_{false};
  Bytes me_;
  system::Mutex mutex_;
  system::CondVar wake_;
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace semel::redis
