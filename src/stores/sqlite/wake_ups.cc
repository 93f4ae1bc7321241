#include "stores/sqlite/wake_ups.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>

namespace semel::sqlite {
namespace {

int watch(const std::string& file) noexcept {
  const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) return -1;
  if (::inotify_add_watch(fd, file.c_str(), IN_MODIFY) < 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

void empty(int fd) noexcept {
  alignas(inotify_event) std::array<char, 4096> events;
  while (::read(fd, events.data(), events.size()) > 0) {
  }
}

}  // namespace

WakeUps::~WakeUps() {
  for (const auto& [consumer, fd] : watches_) {
    if (fd >= 0) ::close(fd);
  }
}

int WakeUps::fd(std::optional<ConsumerNumber> consumer) noexcept {
  const system::MutexLock lock(mutex_);
  const auto known = watches_.find(consumer);
  if (known != watches_.end()) return known->second;
  try {
    return watches_[consumer] = watch(log_);
  } catch (...) {
    return -1;
  }
}

void WakeUps::drain(ConsumerNumber consumer) noexcept {
  const system::MutexLock lock(mutex_);
  for (const auto& key : {std::optional(consumer), std::optional<ConsumerNumber>()}) {
    const auto known = watches_.find(key);
    if (known != watches_.end() && known->second >= 0) empty(known->second);
  }
}

}  // namespace semel::sqlite
