#include "tap/socket_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <semel/environment.h>

#include "base/digest.h"
#include "system/unix_socket.h"

namespace semel::tap {

namespace {

constexpr std::string_view kInfix = "-tap-";
constexpr std::string_view kUnfinished = ".semel-tap-";
constexpr std::size_t kHexDigits = 16;
constexpr std::chrono::seconds kUnfinishedFor{60};
constexpr mode_t kOwnerOnly = 0600;
constexpr mode_t kFolderOfOwner = 0700;
constexpr mode_t kOthers = 0077;
constexpr int kBacklog = 16;

struct Parts {
  std::string folder;
  std::string base;
};

Parts parts_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

// The target of links; the path itself where nothing exists.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real == nullptr ? path : std::string(real.get());
}

bool only(std::string_view text, std::string_view characters) noexcept {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

// A spelling that fits into a socket's address, however long the path is.
std::string through(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

}  // namespace

Result<SocketDirectory> SocketDirectory::beside(const std::string& path) {
  Parts parts = parts_of(real_path(path));
  SocketDirectory place;
  place.folder_path_ = real_path(parts.folder);
  place.base_ = std::move(parts.base);
  place.folder_ =
      system::Descriptor(::open(place.folder_path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!place.folder_.valid()) {
    return failure({ErrorKind::kUnavailable, "R201",
                    fmt::format("{}: the folder of the store cannot be used: {}",
                                place.folder_path_, std::strerror(errno)),
                    "check store.sqlite.path; a relative one starts at the config's folder"});
  }
  return place;
}

// Named by the user only: the environment variables for such directories differ between a service
// and a terminal, and the two must find each other.
Result<std::string> SocketDirectory::of_server(std::string_view identity) {
  const uid_t user = ::geteuid();
  const std::string folder = fmt::format("/tmp/semel-{}", user);
  const bool made = ::mkdir(folder.c_str(), kFolderOfOwner) == 0;
  const int error = errno;
  struct stat about {};
  const bool ours = ::lstat(folder.c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
                    about.st_uid == user && (about.st_mode & kOthers) == 0;
  if (!ours) {
    return failure({ErrorKind::kUnavailable, "R290",
                    fmt::format("semel tap cannot watch this run: {} {}", folder,
                                made || error == EEXIST
                                    ? "is not a folder of this user's alone"
                                    : fmt::format("cannot be made: {}", std::strerror(error))),
                    fmt::format("remove {}, or take the rights of others away", folder)});
  }
  const digest::Short digest =
      digest::shortened(digest::sha256_parts("semel.tap.place", std::array{identity}));
  return fmt::format("{}/{}", folder, digest::hex(digest::view(digest)));
}

bool SocketDirectory::is_socket_name(std::string_view name) const noexcept {
  if (!name.starts_with(base_)) return false;
  name.remove_prefix(base_.size());
  if (!name.starts_with(kInfix)) return false;
  name.remove_prefix(kInfix.size());
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos || dash == 0) return false;
  const std::string_view digits = name.substr(dash + 1);
  return only(name.substr(0, dash), "0123456789") && digits.size() == kHexDigits &&
         only(digits, "0123456789abcdef");
}

std::vector<std::string> SocketDirectory::files() const {
  std::vector<std::string> found;
  const int again = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* listing = again < 0 ? nullptr : ::fdopendir(again);
  if (listing == nullptr) {
    if (again >= 0) ::close(again);
    return found;
  }
  while (const dirent* entry = ::readdir(listing)) found.emplace_back(entry->d_name);
  ::closedir(listing);
  return found;
}

std::vector<std::string> SocketDirectory::names() const {
  std::vector<std::string> found = files();
  std::erase_if(found, [this](const std::string& name) { return !is_socket_name(name); });
  return found;
}

// Created under another name and renamed when it listens: under its own name it is never found
// without a listener, which would look like a dead one.
Result<SocketDirectory::Listening> SocketDirectory::listen() const {
  const std::string unique =
      fmt::format("{:0{}x}", system_environment().random->next(), kHexDigits);
  const std::string unfinished = std::string(kUnfinished) + unique;
  Listening made;
  made.name = fmt::format("{}{}{}-{}", base_, kInfix, ::getpid(), unique);
  made.socket = system::unix_socket();
  const int fd = made.socket.get();
  const sockaddr_un address = system::unix_address(through(folder_.get()) + "/" + unfinished);
  // The mode of the file that bind creates is the socket's own: it never has another.
  const bool bound = made.socket.valid() && ::fchmod(fd, kOwnerOnly) == 0 &&
                     ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (bound && ::listen(fd, kBacklog) == 0 &&
      ::renameat(folder_.get(), unfinished.c_str(), folder_.get(), made.name.c_str()) == 0) {
    return made;
  }
  const int error = errno;
  if (bound) remove(unfinished);
  return failure({ErrorKind::kUnavailable, "R290",
                  fmt::format("semel tap cannot watch this run: no socket can be made in {}: {}",
                              folder_path_, std::strerror(error)),
                  "let this user write that folder; a database's name has at most 200 bytes"});
}

SocketDirectory::Connected SocketDirectory::connect(const std::string& name) const {
  Connected made;
  const system::Descriptor file(
      ::openat(folder_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat about {};
  const bool found = file.valid() && ::fstat(file.get(), &about) == 0;
  if (!found || !S_ISSOCK(about.st_mode)) return made;
  system::Descriptor socket = system::unix_socket();
  if (!socket.valid()) return made;
  switch (system::connect_unix(socket.get(), system::unix_address(through(file.get())))) {
    case 0:
      made.reach = Reach::kThere;
      made.socket = std::move(socket);
      break;
    case ECONNREFUSED:
      made.reach = Reach::kGone;
      remove(name);
      break;
    case EACCES:
    case EPERM:
      made.reach = Reach::kForbidden;
      break;
    default:
      break;
  }
  return made;
}

void SocketDirectory::remove(const std::string& name) const noexcept {
  ::unlinkat(folder_.get(), name.c_str(), 0);
}

void SocketDirectory::tidy() const {
  for (const std::string& name : files()) {
    if (is_socket_name(name)) {
      (void)connect(name);
    } else if (name.starts_with(kUnfinished)) {
      tidy_unfinished(name);
    }
  }
}

// It may be about to listen: only its age shows.
void SocketDirectory::tidy_unfinished(const std::string& name) const {
  struct stat about {};
  if (::fstatat(folder_.get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) return;
  const auto made = std::chrono::system_clock::from_time_t(about.st_mtime);
  if (S_ISSOCK(about.st_mode) && std::chrono::system_clock::now() - made > kUnfinishedFor) {
    remove(name);
  }
}

}  // namespace semel::tap
