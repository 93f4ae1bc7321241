#include "cli/tally.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace semel::cli {

namespace {

[[noreturn]] void throw_tally_error(const std::string& path, const char* what) {
  throw SemelError({ErrorKind::kUnavailable,
                    {},
                    "cannot " + std::string(what) + " " + path + ": " + std::strerror(errno),
                    {}});
}

}  // namespace

Tally::Tally(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) throw_tally_error(path, "open");
  if (::ftruncate(fd, sizeof(TallyCounts)) != 0) {
    ::close(fd);
    throw_tally_error(path, "size");
  }
  void* at = ::mmap(nullptr, sizeof(TallyCounts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (at == MAP_FAILED) throw_tally_error(path, "map");
  // A new file is all zeros, which is the initial count; another process may already be counting.
  counts_ = std::launder(static_cast<TallyCounts*>(at));
}

Tally::~Tally() { ::munmap(counts_, sizeof(TallyCounts)); }

void Tally::on_received(std::string_view, std::size_t deliveries) noexcept {
  counts_->received.fetch_add(deliveries, std::memory_order_relaxed);
}

void Tally::on_ended(std::string_view, const Delivery&, const Outcome& outcome,
                     std::chrono::nanoseconds) noexcept {
  auto& count = outcome.kind == Outcome::Kind::kDone        ? counts_->done
                : outcome.kind == Outcome::Kind::kDuplicate ? counts_->duplicates
                                                            : counts_->others;
  count.fetch_add(1, std::memory_order_relaxed);
}

void Tally::on_refused(std::string_view, const Arrival&, std::string_view,
                       std::string_view) noexcept {
  counts_->others.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace semel::cli
