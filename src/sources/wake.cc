#include "sources/wake.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <new>
#include <utility>

#include <semel/error.h>

#include "system/descriptor_limit.h"

namespace semel::sources {

Wake::Wake()
    : poll_(::epoll_create1(EPOLL_CLOEXEC)), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (poll_.valid() && event_.valid() && watch(event_.get())) return;
  auto none = system::descriptor_limit(errno, "an event to wait on");
  if (none) throw SemelError(*std::move(none));
  throw std::bad_alloc();  // the kernel has no memory for the event
}

bool Wake::watch(int fd) noexcept {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Wake::unwatch(int fd) noexcept { ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void Wake::notify() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
}

void Wake::clear() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t read = ::read(event_.get(), &count, sizeof count);
}

}  // namespace semel::sources
