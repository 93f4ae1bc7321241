#include "system/event_fd.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <new>
#include <utility>

#include <semel/error.h>

#include "system/descriptor_limit.h"

namespace semel::system {

EventFd::EventFd() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (fd_ >= 0) return;
  auto none = descriptor_limit(errno, "an event to wait on");
  if (none) throw SemelError(*std::move(none));
  throw std::bad_alloc();  // the kernel has no memory for it
}

EventFd::~EventFd() { ::close(fd_); }

void EventFd::signal() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = ::write(fd_, &one, sizeof one);
}

void EventFd::drain() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto n = ::read(fd_, &count, sizeof count);
}

}  // namespace semel::system
