#include "system/descriptor_limit.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <cerrno>

#include "system/descriptor.h"

namespace semel::system {

std::optional<Error> descriptor_limit(int error, std::string_view what) {
  if (error == ENFILE) {
    return Error{ErrorKind::kUnavailable, "R270",
                 fmt::format("{}: the machine has no file descriptor left", what),
                 "raise fs.file-max, or end what holds so many"};
  }
  if (error != EMFILE) return std::nullopt;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return Error{
      ErrorKind::kUnavailable, "R270",
      fmt::format("{}: no file descriptor is left, this process may have {}", what, limit.rlim_cur),
      "raise the limit: ulimit -n, or LimitNOFILE= in a unit"};
}

std::optional<Error> descriptor_limit_now(std::string_view what) {
  const Descriptor one(::eventfd(0, EFD_CLOEXEC));
  return one.valid() ? std::nullopt : descriptor_limit(errno, what);
}

void raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  // If it is refused, the limit stays.
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace semel::system
