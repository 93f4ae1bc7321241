#include "sources/file/file_watch.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace semel::sources {

namespace {

// Missing in some versions of linux/magic.h.
constexpr unsigned kFuse = 0x65735546;
constexpr unsigned kCifs = 0xFF534D42;
constexpr unsigned kSmb2 = 0xFE534D42;
constexpr unsigned k9p = 0x01021997;
constexpr unsigned kCeph = 0x00C36400;
constexpr std::array kShared{
    static_cast<unsigned>(NFS_SUPER_MAGIC), kFuse, kCifs, kSmb2, k9p, kCeph};

bool shared_with_other_machines(const std::string& folder) {
  struct statfs where {};
  if (::statfs(folder.c_str(), &where) != 0) return false;
  return std::find(kShared.begin(), kShared.end(), static_cast<unsigned>(where.f_type)) !=
         kShared.end();
}

}  // namespace

FileWatch::FileWatch(const std::string& folder)
    : inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  if (!inotify_.valid()) return;
  constexpr std::uint32_t kEvents = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;
  works_ = ::inotify_add_watch(inotify_.get(), folder.c_str(), kEvents) >= 0 &&
           !shared_with_other_machines(folder);
}

int FileWatch::add(int fd) {
  if (!inotify_.valid()) return -1;
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  const int watch = ::inotify_add_watch(inotify_.get(), path.c_str(), IN_MODIFY);
  if (watch < 0) {
    works_ = false;
  } else {
    ++uses_[watch];
  }
  return watch;
}

void FileWatch::remove(int watch) noexcept {
  const auto found = uses_.find(watch);
  if (found == uses_.end() || --found->second > 0) return;
  uses_.erase(found);
  ::inotify_rm_watch(inotify_.get(), watch);
}

void FileWatch::clear() noexcept {
  if (!inotify_.valid()) return;
  alignas(struct inotify_event) std::array<char, 16 << 10> events;
  while (::read(inotify_.get(), events.data(), events.size()) > 0) {
  }
}

}  // namespace semel::sources
