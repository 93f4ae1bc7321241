#include <pthread.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <semel/environment.h>
#include <semel/key.h>

#include "base/uuid7.h"
#include "system/mutex.h"

namespace semel {
namespace {

struct Keys {
  system::Mutex mutex;
  Uuid7Sequence sequence SEMEL_GUARDED_BY(mutex);
};

Keys& keys() noexcept {
  static constinit Keys made;
  return made;
}

// A child starts a sequence of its own: in the millisecond of the fork its counter would otherwise
// continue like the parent's. Held over the fork, so that no other thread holds the lock then.
void hold() SEMEL_ACQUIRE(keys().mutex) { keys().mutex.lock(); }
void let_go() SEMEL_RELEASE(keys().mutex) { keys().mutex.unlock(); }
void begin_anew() SEMEL_RELEASE(keys().mutex) {
  keys().sequence = Uuid7Sequence();
  keys().mutex.unlock();
}

bool watch_forks() noexcept {
  if (::pthread_atfork(&hold, &let_go, &begin_anew) == 0) return true;
  std::fputs("semel: out of memory\n", stderr);
  std::abort();
}

}  // namespace

Bytes Key::random() {
  static const bool watched = watch_forks();
  static_cast<void>(watched);
  using std::chrono::milliseconds;
  Random& random = *system_environment().random;
  const Uuid7Sequence::Chance chance{random.next(), random.next()};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto time = std::chrono::duration_cast<milliseconds>(now).count();
  const system::MutexLock lock(keys().mutex);
  return keys().sequence.next(static_cast<std::uint64_t>(time), chance);
}

}  // namespace semel
