#include "http_server/socket_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "system/unix_socket.h"

namespace semel::http {

namespace {

constexpr const char* kLockSuffix = ".lock";
constexpr const char* kNewSuffix = ".new";
constexpr mode_t kOwnerOnly = 0600;
constexpr const char* kOtherPath = "give another path, or stop the program that has it";
constexpr const char* kFolderFix =
    "make the folder, and let this user write it; in a unit of systemd: RuntimeDirectory=semel";

// The spelling of a file in the folder that has room in a socket's address, however long its path.
sockaddr_un address_in(int folder, const std::string& name) {
  return system::unix_address(fmt::format("/proc/self/fd/{}/{}", folder, name));
}

// The errno of a connect() to the file; 0: somebody listens.
int connect_to(int folder, const std::string& name, std::string& who) {
  const auto socket = system::unix_socket();
  if (!socket.valid()) return errno;
  if (const int error = system::connect_unix(socket.get(), address_in(folder, name)); error != 0) {
    return error;
  }
  const auto peer = system::peer_of(socket.get());
  if (peer && peer->pid > 0) who = fmt::format("process {} listens there", peer->pid);
  return 0;
}

}  // namespace

Result<std::unique_ptr<SocketFile>> SocketFile::listen(const SocketPath& where, int queue,
                                                       const ListenerNames& names) {
  std::unique_ptr<SocketFile> made(new SocketFile());
  if (auto opened = made->open(where, queue, names); !opened) {
    return failure(std::move(opened.error()));
  }
  return made;
}

SocketFile::~SocketFile() { remove(); }

tl::unexpected<Error> SocketFile::refused(const ListenerNames& names, const std::string& why,
                                          const std::string& hint, ErrorKind kind) const {
  return failure({kind, names.code,
                  fmt::format("{}: cannot listen on {}: {}", names.socket_field, path_, why),
                  hint});
}

Result<void> SocketFile::open(const SocketPath& where, int queue, const ListenerNames& names) {
  path_ = where.path;
  const std::size_t slash = path_.rfind('/');
  name_ = slash == std::string::npos ? path_ : path_.substr(slash + 1);
  std::string folder = ".";
  if (slash != std::string::npos) folder = slash == 0 ? "/" : path_.substr(0, slash);
  if (path_.size() > kLongestSocketPath || name_.empty()) {
    return refused(names,
                   name_.empty()
                       ? std::string("the path is that of a folder")
                       : fmt::format("the path has {} bytes, and that of a socket at most {}",
                                     path_.size(), kLongestSocketPath),
                   "a short path, as /run/semel/admin.sock", ErrorKind::kRejected);
  }
  folder_ = system::Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_.valid()) {
    return refused(names, fmt::format("its folder: {}", std::strerror(errno)), kFolderFix,
                   ErrorKind::kRejected);
  }
  if (auto locked = lock(names); !locked) return locked;
  if (auto removed = remove_stale(names); !removed) return removed;
  return bind(where.mode, queue, names);
}

// The file of the lock is removed under it, so a lock of a file that is gone by then locks nothing.
Result<void> SocketFile::lock(const ListenerNames& names) {
  const std::string name = name_ + kLockSuffix;
  for (;;) {
    system::Descriptor file(::openat(folder_.get(), name.c_str(),
                                     O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly));
    if (!file.valid()) {
      return refused(names, fmt::format("{}: {}", name, std::strerror(errno)), kFolderFix,
                     ErrorKind::kRejected);
    }
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      std::string who = "another process holds its lock";
      (void)connect_to(folder_.get(), name_, who);
      return refused(names, who, kOtherPath, ErrorKind::kUnavailable);
    }
    struct stat held {};
    struct stat there {};
    if (::fstat(file.get(), &held) == 0 &&
        ::fstatat(folder_.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        held.st_dev == there.st_dev && held.st_ino == there.st_ino) {
      lock_ = std::move(file);
      return {};
    }
  }
}

// Under the lock no process of Semel listens there; another program may.
Result<void> SocketFile::remove_stale(const ListenerNames& names) {
  ::unlinkat(folder_.get(), (name_ + kNewSuffix).c_str(), 0);
  struct stat there {};
  if (::fstatat(folder_.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return refused(names, std::strerror(errno), kFolderFix, ErrorKind::kRejected);
  }
  if (!S_ISSOCK(there.st_mode)) {
    return refused(names, "there is a file that is no socket", "give another path, or remove it",
                   ErrorKind::kRejected);
  }
  std::string who = "another program listens there";
  const int said = connect_to(folder_.get(), name_, who);
  if (said == ENOENT) return {};
  if (said != ECONNREFUSED) {
    if (said != 0) who = fmt::format("a socket is there: {}", std::strerror(said));
    return refused(names, who, kOtherPath, ErrorKind::kUnavailable);
  }
  if (::unlinkat(folder_.get(), name_.c_str(), 0) == 0 || errno == ENOENT) return {};
  return refused(names, std::strerror(errno), kFolderFix, ErrorKind::kRejected);
}

// A user who may write the folder could put a link in the file's place meanwhile: so the file is
// opened once, and its rights are changed through that.
bool SocketFile::give_rights(const std::string& name, mode_t mode) {
  const system::Descriptor file(
      ::openat(folder_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat made {};
  if (!file.valid() || ::fstat(file.get(), &made) != 0) return false;
  if (!S_ISSOCK(made.st_mode)) {
    errno = EEXIST;
    return false;
  }
  device_ = made.st_dev;
  inode_ = made.st_ino;
  return ::chmod(fmt::format("/proc/self/fd/{}", file.get()).c_str(), mode) == 0;
}

// It is made under another name, and has its own name when it listens with its rights. The
// process's umask takes rights from what bind() makes, so they are given after it.
Result<void> SocketFile::bind(mode_t mode, int queue, const ListenerNames& names) {
  const std::string unfinished = name_ + kNewSuffix;
  socket_ = system::unix_socket();
  const sockaddr_un address = address_in(folder_.get(), unfinished);
  const bool bound =
      socket_.valid() && ::fchmod(socket_.get(), kOwnerOnly) == 0 &&
      ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (bound && give_rights(unfinished, mode) && ::listen(socket_.get(), queue) == 0) {
    int placed = ::renameat2(folder_.get(), unfinished.c_str(), folder_.get(), name_.c_str(),
                             RENAME_NOREPLACE);
    // A file system without it.
    if (placed != 0 && errno == EINVAL) {
      placed = ::renameat(folder_.get(), unfinished.c_str(), folder_.get(), name_.c_str());
    }
    bound_ = placed == 0;
    if (bound_) return {};
  }
  const int error = errno;
  if (bound) ::unlinkat(folder_.get(), unfinished.c_str(), 0);
  return refused(names, std::strerror(error), error == EEXIST ? kOtherPath : kFolderFix,
                 error == EEXIST ? ErrorKind::kUnavailable : ErrorKind::kRejected);
}

void SocketFile::remove() noexcept {
  if (!lock_.valid()) return;
  struct stat there {};
  if (bound_ && ::fstatat(folder_.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      there.st_dev == device_ && there.st_ino == inode_) {
    ::unlinkat(folder_.get(), name_.c_str(), 0);
  }
  ::unlinkat(folder_.get(), (name_ + kLockSuffix).c_str(), 0);
  lock_.close();
}

}  // namespace semel::http
