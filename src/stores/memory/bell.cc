#include "stores/memory/bell.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace semel::memory {

Bell::Bell() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (fd_ >= 0) return;
  std::perror("memory store: eventfd");
  std::abort();
}

Bell::~Bell() { ::close(fd_); }

void Bell::ring() const noexcept {
  if (::eventfd_write(fd_, 1) != 0) return;  // full: it is readable already
}

void Bell::silence() const noexcept {
  eventfd_t rung = 0;
  if (::eventfd_read(fd_, &rung) != 0) return;  // it was silent
}

}  // namespace semel::memory
