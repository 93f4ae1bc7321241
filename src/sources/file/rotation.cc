#include "sources/file/rotation.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "system/descriptor_limit.h"

namespace semel::sources {

namespace {

using std::chrono::nanoseconds;
using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

Folder open_folder(const std::string& path) {
  return {::opendir(std::filesystem::path(path).parent_path().c_str()), &::closedir};
}

// payments.jsonl.1 and payments-0102.jsonl are rotated forms of payments.jsonl; compressed files
// contain no lines.
bool like(const std::filesystem::path& name, const std::filesystem::path& path) {
  static constexpr std::string_view kPacked[] = {".gz", ".bz2", ".xz", ".zst", ".zip", ".lz4"};
  const std::string ending = name.extension().string();
  return name.string().starts_with(path.stem().string()) &&
         std::find(std::begin(kPacked), std::end(kPacked), ending) == std::end(kPacked);
}

// The part that a rotation added to the path's name, with a 0 for each number: ".0" for
// payments.jsonl.1. nullopt: the name is not that of `path` with something added.
std::optional<std::string> addition(std::string_view name, const std::filesystem::path& path) {
  const std::string own = path.filename().string();
  const std::string stem = path.stem().string();
  const std::string ending = path.extension().string();
  std::string added;
  if (name.starts_with(own)) {
    name.remove_prefix(own.size());
  } else if (!ending.empty() && name.starts_with(stem) && name.ends_with(ending)) {
    name.remove_prefix(stem.size());
    name.remove_suffix(ending.size());
    added = "*";
  } else {
    return std::nullopt;
  }
  constexpr std::string_view kDigits = "0123456789";
  for (const char c : name) {
    const bool digit = kDigits.find(c) != std::string_view::npos;
    if (!digit || !added.ends_with('0')) added += digit ? '0' : c;
  }
  return added;
}

// Numbers and dates. Anything else may be another file of the same user.
bool is_rotation(std::string_view added) {
  if (added.starts_with('*')) added.remove_prefix(1);
  return !added.empty() && added.front() != '0' && added.find('0') != std::string_view::npos &&
         added.find_first_not_of("0-._:+TZ") == std::string_view::npos;
}

struct Times {
  nanoseconds written{};
  std::optional<nanoseconds> born;  // unknown to some file systems
  std::uint64_t size = 0;
};

// By `fd` where `name` is empty, else by the name in that folder.
std::optional<Times> times_of(int fd, const char* name) {
  struct statx found {};
  const int flags = AT_SYMLINK_NOFOLLOW | (*name == '\0' ? AT_EMPTY_PATH : 0);
  if (::statx(fd, name, flags, STATX_MTIME | STATX_SIZE | STATX_BTIME, &found) != 0) {
    return std::nullopt;
  }
  const auto time = [](const struct statx_timestamp& at) {
    return std::chrono::seconds(at.tv_sec) + nanoseconds(at.tv_nsec);
  };
  Times times{time(found.stx_mtime), std::nullopt, found.stx_size};
  if ((found.stx_mask & STATX_BTIME) != 0) times.born = time(found.stx_btime);
  return times;
}

bool may_be_between(const Times& file, const Times& before, const Times& present) {
  if (!file.born || !before.born) return file.written >= before.written;
  if (file.written < before.written && file.size == 0) return false;
  return *file.born >= *before.born && (!present.born || *file.born <= *present.born) &&
         file.written >= *before.born;  // else it was restored
}

// Compares the first and the last part of it.
bool begins(int file, std::uint64_t size, int other, std::uint64_t other_size) {
  constexpr std::uint64_t kCompared = 4 << 10;
  if (size == 0 || size > other_size) return false;
  const std::uint64_t part = std::min(size, kCompared);
  const auto same = [&](const LineSpan& span) {
    Bytes mine;
    Bytes others;
    return load_line(file, span, part, mine) && load_line(other, span, part, others) &&
           mine == others;
  };
  return same({0, part}) && same({size - part, size});
}

struct Candidate {
  std::string name;
  struct stat status {};
  Times times;
  std::string added;
  std::string unclear;   // why it is left alone; empty: it is read
  bool repeats = false;  // it has the content of the file that was read last

  auto age() const { return std::tuple(times.written, times.born.value_or(nanoseconds(0))); }
};

// A rotation during a scan of the folder may hide files from it.
constexpr int kScans = 3;

// Zero where no file has the name.
std::uint64_t inode_at(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

class Search {
 public:
  Search(const std::string& path, const OpenFile& before, const OpenFile& present)
      : path_(path), before_(before), present_(present) {}

  Result<UnseenFiles> run(const IsKnown& known) {
    const auto before = times_of(before_.fd.get(), "");
    const auto present = times_of(present_.fd.get(), "");
    const Folder folder = open_folder(path_);
    if (folder == nullptr) {
      if (auto none = system::descriptor_limit(errno, path_.string())) {
        return failure(*std::move(none));
      }
    }
    if (folder == nullptr || !before || !present) {
      return UnseenFiles{{},
                         {fmt::format("the folder of {} cannot be listed: it is unknown whether "
                                      "more files than the last had that name",
                                      path_.string())}};
    }
    before_times_ = *before;
    present_times_ = *present;
    for (int scan = 0; scan < kScans && moved_; ++scan) {
      if (auto scanned = scan_folder(folder.get(), known); !scanned) {
        return failure(std::move(scanned.error()));
      }
    }
    return sorted();
  }

 private:
  Result<void> scan_folder(DIR* folder, const IsKnown& known) {
    moved_ = false;
    candidates_.clear();
    before_added_.reset();
    const std::uint64_t inode = inode_at(path_.string());
    ::rewinddir(folder);
    while (const dirent* entry = ::readdir(folder)) {
      auto looked = look(::dirfd(folder), entry->d_name, known);
      if (!looked) return looked;
    }
    moved_ = moved_ || inode != inode_at(path_.string());
    return {};
  }

  // The entry is another file now, or none.
  Result<void> moved() {
    moved_ = true;
    return {};
  }

  Result<void> look(int folder, const char* name, const IsKnown& known) {
    struct stat status {};
    auto added = addition(name, path_.filename());
    if (!added || added->empty() || !like(name, path_.filename())) return {};
    if (::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return moved();
    if (before_.same_as(status)) before_added_ = *added;
    if (!S_ISREG(status.st_mode) || present_.same_as(status) || known(status)) return {};
    const auto times = times_of(folder, name);
    if (!times) return moved();
    if (!may_be_between(*times, before_times_, present_times_)) return {};
    Candidate candidate{(path_.parent_path() / name).string(), status, *times, *added, {}};
    // Closed at once: there may be more of them than a process has descriptors.
    auto opened = open_file(candidate.name);
    if (!opened && opened.error().code != "R233") return failure(std::move(opened.error()));
    if (opened && (!*opened || !(*opened)->same_as(status))) return moved();
    if (opened) {
      candidate.repeats =
          begins((*opened)->fd.get(), times->size, before_.fd.get(), before_times_.size);
    } else {
      candidate.unclear = "this user may not read it";
    }
    // By another name.
    const bool twice = std::any_of(candidates_.begin(), candidates_.end(), [&](const auto& other) {
      return other.status.st_ino == status.st_ino && other.status.st_dev == status.st_dev;
    });
    if (twice) return {};
    candidates_.push_back(std::move(candidate));
    return {};
  }

  std::string unclear(const Candidate& candidate) const {
    if (!candidate.unclear.empty()) return candidate.unclear;
    if (!is_rotation(candidate.added) || (before_added_ && *before_added_ != candidate.added)) {
      return "its name has another form";
    }
    // By the birth times it is in between; the writer of the older file was late.
    const bool born_between = candidate.times.born && before_times_.born && present_times_.born;
    if (!born_between && candidate.times.written < before_times_.written) {
      return "it was written to last before the file that was read last";
    }
    if (before_times_.size == 0 && (!candidate.times.born || !before_times_.born)) {
      return "it may be older than the file that was read last";
    }
    if (candidate.repeats) return "it has the content of the file that was read last";
    return {};
  }

  UnseenFiles sorted() {
    UnseenFiles unseen;
    std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      return std::tuple(a.age(), a.name) < std::tuple(b.age(), b.name);
    });
    if (moved_) {
      unseen.notices.push_back(
          fmt::format("files were renamed or removed in each look into the folder of {}: more of "
                      "them than are read may have had that name",
                      path_.string()));
    }
    const Candidate* last = nullptr;
    for (const Candidate& candidate : candidates_) {
      const std::string& name = candidate.name;
      if (const std::string why = unclear(candidate); !why.empty()) {
        unseen.notices.push_back(fmt::format(
            "{} may have been {} for a time; it is not read, since {}", name, path_.string(), why));
        continue;
      }
      unseen.notices.push_back(
          fmt::format("{} was {} for a time and was not seen then: it is read from its start", name,
                      path_.string()));
      if (last != nullptr && last->age() == candidate.age()) {
        unseen.notices.push_back(fmt::format(
            "{} and {} were written to last at the same time: it is unclear which is older",
            last->name, name));
      }
      last = &candidate;
      unseen.files.push_back(candidate.status);
    }
    return unseen;
  }

  const std::filesystem::path path_;
  const OpenFile& before_;
  const OpenFile& present_;
  Times before_times_;
  Times present_times_;
  std::optional<std::string> before_added_;  // nullopt: it has no name any more
  std::vector<Candidate> candidates_;
  bool moved_ = true;  // in the last scan, or there was none
};

Error cannot_list(const std::string& path, int code) {
  return {ErrorKind::kUnavailable, "R234",
          fmt::format("the folder of {} cannot be listed: {}", path,
                      std::generic_category().message(code)),
          "look at the folder and its disk"};
}

// Whether a rotation under way may have hidden a file from a look.
enum class Hidden {
  kNo,
  kMaybe,   // something in the folder was renamed, made or removed
  kLikely,  // a file of this path was
};

std::optional<nanoseconds> changed_at(DIR* folder) {
  struct stat status {};
  if (::fstat(::dirfd(folder), &status) != 0) return std::nullopt;
  return std::chrono::seconds(status.st_mtim.tv_sec) + nanoseconds(status.st_mtim.tv_nsec);
}

// One look for it.
Result<std::optional<NamedFile>> look_for(const std::string& path, const FilePosition& position,
                                          Hidden& hidden) {
  const std::uint64_t inode = inode_at(path);
  const Folder folder = open_folder(path);
  if (folder == nullptr) {
    const int code = errno;
    if (auto none = system::descriptor_limit(code, path)) return failure(*std::move(none));
    if (code == ENOENT || code == ENOTDIR) return std::nullopt;
    return failure(cannot_list(path, code));
  }
  const auto changed = changed_at(folder.get());
  errno = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (entry->d_ino == position.inode &&
        (position.last.span.size() != 0 || like(entry->d_name, path))) {
      std::string name = (std::filesystem::path(path).parent_path() / entry->d_name).string();
      auto opened = open_file(name);
      if (!opened && opened.error().kind == ErrorKind::kUnavailable) {
        return failure(std::move(opened.error()));
      }
      if (opened && (!*opened || (*opened)->status.st_ino != position.inode)) {
        hidden = Hidden::kLikely;
      } else if (opened && still_there((*opened)->fd.get(), position)) {
        return NamedFile{std::move(name), std::move(**opened)};
      }
    }
    errno = 0;
  }
  if (errno != 0) return failure(cannot_list(path, errno));
  if (inode != inode_at(path)) hidden = Hidden::kLikely;
  if (hidden == Hidden::kNo && changed != changed_at(folder.get())) hidden = Hidden::kMaybe;
  return std::nullopt;
}

}  // namespace

Result<std::optional<NamedFile>> find_renamed(const std::string& path,
                                              const FilePosition& position) {
  Hidden hidden = Hidden::kNo;
  for (int scan = 0; scan < kScans; ++scan) {
    hidden = Hidden::kNo;
    auto found = look_for(path, position, hidden);
    if (!found || *found || hidden == Hidden::kNo) return found;
  }
  // Others may write to the folder all the time.
  if (hidden == Hidden::kMaybe) return std::nullopt;
  return failure({ErrorKind::kUnavailable, "R234",
                  fmt::format("files beside {} are renamed all the time", path),
                  "it is looked for again"});
}

Result<UnseenFiles> find_unseen(const std::string& path, const OpenFile& before,
                                const OpenFile& present, const IsKnown& known) {
  return Search(path, before, present).run(known);
}

std::string newest_rotated(const std::string& path) {
  const std::filesystem::path whole(path);
  const Folder folder = open_folder(path);
  std::pair<nanoseconds, std::string> newest;
  while (const dirent* entry = folder == nullptr ? nullptr : ::readdir(folder.get())) {
    const auto added = addition(entry->d_name, whole.filename());
    if (!added || !is_rotation(*added) || !like(entry->d_name, whole.filename())) continue;
    const auto times = times_of(::dirfd(folder.get()), entry->d_name);
    if (!times || times->size == 0) continue;
    newest = std::max(newest, {times->written, (whole.parent_path() / entry->d_name).string()});
  }
  return newest.second;
}

}  // namespace semel::sources
