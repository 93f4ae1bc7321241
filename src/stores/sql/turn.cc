#include "stores/sql/turn.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <new>
#include <utility>

#include <semel/error.h>

#include "system/descriptor_limit.h"

namespace semel::sql {

Turn::Turn() : free_(::eventfd(1, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (free_ >= 0) return;
  auto none = system::descriptor_limit(errno, "a turn at a session");
  if (none) throw SemelError(*std::move(none));
  throw std::bad_alloc();  // the kernel has no memory for it
}

Turn::~Turn() { ::close(free_); }

void Turn::take(system::Deadline deadline) {
  std::uint64_t one = 0;
  while (::read(free_, &one, sizeof one) != static_cast<ssize_t>(sizeof one)) {
    if (deadline.wait(free_, POLLIN)) continue;
    fail({ErrorKind::kUnavailable, "R250",
          deadline.stopped() ? "the process is to stop, and waits for the server no longer"
                             : "the server has not answered another call of this process in time",
          "look into the server's log"});
  }
}

void Turn::give_back() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = ::write(free_, &one, sizeof one);
}

}  // namespace semel::sql
