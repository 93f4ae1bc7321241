#include "stores/sqlite/place.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/printable.h"
#include "stores/sqlite/failure.h"

namespace semel::sqlite {
namespace {

// linux/magic.h and the file systems' own headers.
constexpr long kNfs = 0x6969;
constexpr long kSmb = 0x517b;
constexpr long kCifs = 0xff534d42;
constexpr long kSmb2 = 0xfe534d42;
constexpr long kAfs = 0x5346414f;
constexpr long kCoda = 0x73757245;
constexpr long kCeph = 0x00c36400;
constexpr long kLustre = 0x0bd00bd0;
constexpr long kFuse = 0x65735546;
constexpr std::array kNetwork = {kNfs, kSmb, kCifs, kSmb2, kAfs, kCoda, kCeph, kLustre};
// Served by a program in user space, local or not: its name tells.
constexpr std::array<std::string_view, 10> kNetworkPrograms = {
    "fuse.sshfs",  "fuse.glusterfs", "fuse.s3fs",   "fuse.rclone",    "fuse.davfs",
    "fuse.davfs2", "fuse.gcsfuse",   "fuse.cephfs", "fuse.ceph-fuse", "fuse.goofys"};

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The type under which the file system of `path` is mounted; empty where unknown.
std::string mounted_as(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return {};
  const std::string device = fmt::format("{}:{}", major(about.st_dev), minor(about.st_dev));
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id, parent, its_device;
    words >> id >> parent >> its_device;
    const std::size_t dash = line.find(" - ");
    if (its_device != device || dash == std::string::npos) continue;
    std::istringstream rest(line.substr(dash + 3));
    std::string type;
    rest >> type;
    return type;
  }
  return {};
}

}  // namespace

bool is_network(long type, std::string_view mounted) noexcept {
  // Some systems report the type as a signed number of half the width.
  const long plain = static_cast<long>(static_cast<unsigned long>(type) & 0xffffffffUL);
  if (std::ranges::find(kNetwork, plain) != kNetwork.end()) return true;
  return plain == kFuse && std::ranges::find(kNetworkPrograms, mounted) != kNetworkPrograms.end();
}

void check_place(const SqliteOptions& options) {
  const std::string& path = options.path;
  if (path.empty() || path.starts_with(":memory:") || path.starts_with("file:")) {
    fail({ErrorKind::kRejected, "R212",
          fmt::format("\"{}\" does not name a file: records must outlive the process", path),
          "name a file as store.sqlite.path"});
  }
  if (path.find('\0') != std::string::npos) {
    fail({ErrorKind::kRejected, "R201",
          fmt::format("the path \"{}\" has a byte of zero, where a file's name would end",
                      printable_text(path)),
          "name a file as store.sqlite.path"});
  }
  struct stat about {};
  const bool there = ::stat(path.c_str(), &about) == 0;
  if (there && !S_ISREG(about.st_mode)) {
    fail({ErrorKind::kRejected, "R212", fmt::format("{} is not a file", path),
          "name a file as store.sqlite.path"});
  }
  if (there && about.st_nlink > 1) {
    fail({ErrorKind::kRejected, "R209",
          fmt::format("{} has {} names (hard links): who opens it by another one has other locks "
                      "and another log",
                      path, about.st_nlink),
          fmt::format(
              "find / -xdev -samefile {} lists them: remove the others, or make it a file of "
              "its own with cp",
              path)});
  }
  if (!there && errno == EACCES) {
    fail({ErrorKind::kUnavailable, "R201", fmt::format("{} may not be reached by this user", path),
          "let this user enter its directory"});
  }
  const std::string where = there ? path : parent_of(path);
  struct statfs system {};
  if (::statfs(where.c_str(), &system) != 0) {
    fail({ErrorKind::kUnavailable, "R201",
          fmt::format("{}: its directory cannot be used: {}", path, std::strerror(errno)),
          "make the directory first"});
  }
  if (!there && !options.create) {
    fail({ErrorKind::kUnavailable, "R201", fmt::format("{} does not exist", path),
          "make it: semel store init"});
  }
  if (is_network(static_cast<long>(system.f_type), mounted_as(where))) {
    fail({ErrorKind::kRejected, "R204",
          fmt::format("{} lies on a network file system, whose locks cannot be relied on", path),
          "put the database on a local disk"});
  }
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real != nullptr) return real.get();
  fail({ErrorKind::kUnavailable, "R201",
        fmt::format("{} cannot be used: {}", path, std::strerror(errno)),
        "check its directory, and where links in its path lead"});
}

}  // namespace semel::sqlite
