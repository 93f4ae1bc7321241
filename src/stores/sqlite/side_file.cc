#include "stores/sqlite/side_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "stores/sqlite/failure.h"
#include "system/descriptor_limit.h"

namespace semel::sqlite {
namespace {

constexpr std::size_t kPage = 4096;

[[noreturn]] void fail_for(const std::string& path, int error) {
  if (error == EACCES || error == EPERM || error == EROFS) {
    fail({ErrorKind::kUnavailable, "R203",
          fmt::format("{} may not be written: {}", path, std::strerror(error)),
          "let this user write the file and its directory"});
  }
  if (error == ENOSPC || error == EDQUOT) {
    fail({ErrorKind::kUnavailable, "R205", fmt::format("{}: the disk is full", path),
          "free space on its disk"});
  }
  if (auto none = system::descriptor_limit(error, path)) fail(*std::move(none));
  fail({ErrorKind::kUnavailable, "R201",
        fmt::format("{} cannot be used: {}", path, std::strerror(error)),
        "it holds the locks beside the database; check its directory and its disk"});
}

struct flock one_byte(int type, std::int64_t byte) {
  struct flock lock {};
  lock.l_type = static_cast<decltype(lock.l_type)>(type);
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

}  // namespace

SideFile::SideFile(const std::string& path) : path_(path) {
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);  // POSIX declares it so
  if (fd_ < 0) fail_for(path_, errno);
  struct stat about {};
  // Allocates real blocks: a store into a hole on a full disk would raise a signal, not an error.
  int sizing = ::fstat(fd_, &about) == 0 ? 0 : errno;
  if (sizing == 0 && about.st_size < static_cast<off_t>(kPage)) {
    sizing = ::posix_fallocate(fd_, 0, kPage);
  }
  const bool sized = sizing == 0;
  page_ = sized ? ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0) : MAP_FAILED;
  if (page_ == MAP_FAILED) {
    const int error = sized ? errno : sizing;
    ::close(fd_);
    fail_for(path_, error);
  }
}

SideFile::~SideFile() {
  ::munmap(page_, kPage);
  ::close(fd_);
}

bool SideFile::try_lock(std::int64_t byte) {
  struct flock lock = one_byte(F_WRLCK, byte);
  if (::fcntl(fd_, F_OFD_SETLK, &lock) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  fail_for(path_, errno);
}

void SideFile::unlock(std::int64_t byte) noexcept {
  struct flock lock = one_byte(F_UNLCK, byte);
  ::fcntl(fd_, F_OFD_SETLK, &lock);
}

bool SideFile::locked_elsewhere(std::int64_t byte) const {
  struct flock lock = one_byte(F_WRLCK, byte);
  if (::fcntl(fd_, F_OFD_GETLK, &lock) != 0) fail_for(path_, errno);
  return lock.l_type != F_UNLCK;
}

bool SideFile::in_place() const noexcept {
  struct stat open {};
  struct stat named {};
  return ::fstat(fd_, &open) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

void SideFile::set_holder(std::int64_t pid) noexcept {
  const std::atomic_ref<std::int64_t> holder(*static_cast<std::int64_t*>(page_));
  // Any store marks the page as dirty, even one that changes nothing.
  if (holder.load(std::memory_order_relaxed) != pid) holder.store(pid, std::memory_order_relaxed);
}

std::int64_t SideFile::holder() const noexcept {
  return std::atomic_ref<std::int64_t>(*static_cast<std::int64_t*>(page_))
      .load(std::memory_order_relaxed);
}

}  // namespace semel::sqlite
