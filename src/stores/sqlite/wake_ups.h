// WakeUps: descriptors that become readable when any process committed.
//
// Each watches the write-ahead log: every commit writes there, and nothing else does.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <semel/key.h>

#include "system/mutex.h"

namespace semel::sqlite {

// Thread-safe.
class WakeUps {
 public:
  explicit WakeUps(const std::string& database) : log_(database + "-wal") {}
  ~WakeUps();
  WakeUps(const WakeUps&) = delete;
  WakeUps& operator=(const WakeUps&) = delete;

  // One descriptor for calls that name no consumer, and one for each consumer; -1 where the system
  // gives none.
  int fd(std::optional<ConsumerNumber> consumer) noexcept SEMEL_EXCLUDES(mutex_);
  // Earlier wake-ups are consumed.
  void drain(ConsumerNumber consumer) noexcept SEMEL_EXCLUDES(mutex_);

 private:
  const std::string log_;
  system::Mutex mutex_;
  std::map<std::optional<ConsumerNumber>, int> watches_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::sqlite
