#include "directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <thread>

#include <semel/spi/failpoints.h>

namespace directory_store {
namespace {

using semel::ErrorKind;
using semel::failure;
using semel::Result;

constexpr std::string_view kHalfWritten = ".new";
// A commit of several changes: a line for each, which says what becomes of the file it names.
const std::string kCommit = "commit";
constexpr char kReplaced = '+', kErased = '-';
constexpr int kLooksAtLock = 5'000;
constexpr std::chrono::milliseconds kBetweenLooks{1};

auto failed(ErrorKind kind, const std::string& what) {
  return failure({kind, {}, what + ": " + std::generic_category().message(errno), {}});
}

}  // namespace

File::File(const std::string& path, int flags) noexcept
    : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

Directory::Unlock::~Unlock() { ::flock(fd, LOCK_UN); }

Directory::Directory(std::string path, semel::Environment& environment)
    : path_(std::move(path)),
      environment_(environment),
      folder_(path_, O_RDONLY | O_DIRECTORY),
      lock_(file("lock"), O_RDWR | O_CREAT),
      counter_(file("counter"), O_RDWR | O_CREAT) {}

Result<std::unique_ptr<Directory>> Directory::open(const std::string& path,
                                                   semel::Environment& environment) {
  std::error_code error;
  // Only its last part: each folder that is made has to be durable in the one above it.
  if (std::filesystem::create_directory(path, error)) {
    const auto above = std::filesystem::absolute(path, error).parent_path();
    const File parent(above.string(), O_RDONLY | O_DIRECTORY);
    if (parent.get() < 0 || ::fsync(parent.get()) != 0) {
      return failed(ErrorKind::kUnavailable, "cannot sync " + above.string());
    }
  }
  std::unique_ptr<Directory> opened(new Directory(path, environment));
  if (opened->folder_.get() < 0 || opened->lock_.get() < 0 || opened->counter_.get() < 0) {
    return failed(ErrorKind::kUnavailable, "cannot open " + path);
  }
  return opened->locked([&]() -> Result<std::unique_ptr<Directory>> {
    std::filesystem::directory_iterator at(path, error);
    for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
      if (at->path().native().ends_with(kHalfWritten)) ::unlink(at->path().c_str());
    }
    return std::move(opened);
  });
}

Result<void> Directory::lock_out_processes() {
  for (int looks = 0; ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0; ++looks) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return failed(ErrorKind::kUnavailable, "cannot lock " + path_);
    }
    if (looks == kLooksAtLock) return failed(ErrorKind::kBlocked, "others use " + path_);
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return {};
}

Result<std::vector<std::string>> Directory::names(std::string_view prefix) const {
  std::vector<std::string> found;
  std::error_code error;
  std::filesystem::directory_iterator at(path_, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    std::string name = at->path().filename().string();
    if (name.starts_with(prefix) && !name.ends_with(kHalfWritten)) found.push_back(std::move(name));
  }
  if (!error) return found;
  return failure(
      {ErrorKind::kUnavailable, {}, "cannot read " + path_ + ": " + error.message(), {}});
}

// A file that cannot be read is never one that is not there: its record would be new.
Result<std::optional<std::string>> Directory::read(const std::string& name) const {
  const File in(file(name), O_RDONLY);
  if (in.get() < 0 && errno == ENOENT) return std::optional<std::string>();
  std::string content;
  char block[1 << 14];
  ssize_t size = in.get() < 0 ? -1 : ::read(in.get(), block, sizeof block);
  for (; size > 0; size = ::read(in.get(), block, sizeof block)) {
    content.append(block, static_cast<std::size_t>(size));
  }
  if (size < 0) return failed(ErrorKind::kUnavailable, "cannot read " + file(name));
  return std::optional(std::move(content));
}

Result<void> Directory::write_beside(const Change& change) const {
  const std::string path = file(change.name) + std::string(kHalfWritten);
  const File out(path, O_WRONLY | O_CREAT | O_TRUNC);
  std::string_view rest = *change.content;
  ssize_t size = out.get() < 0 ? -1 : 0;
  while (size >= 0 && !rest.empty()) {
    size = ::write(out.get(), rest.data(), rest.size());
    if (size > 0) rest.remove_prefix(static_cast<std::size_t>(size));
  }
  if (size >= 0 && ::fsync(out.get()) == 0) return {};
  return failed(ErrorKind::kUnavailable, "cannot write " + path);
}

semel::Error Directory::broken() const {
  return {ErrorKind::kUnavailable,
          {},
          "a sync of " + path_ + " has failed",
          "look at the disk, then open the store anew"};
}

Result<void> Directory::sync_folder() {
  if (broken_) return failure(broken());
  broken_ = ::fsync(folder_.get()) != 0;
  if (broken_) return failed(ErrorKind::kInDoubt, "cannot sync " + path_);
  return {};
}

// A change may have been made by a process that died then.
Result<void> Directory::put_in_place(const std::string& name, bool erased) const {
  const std::string to = file(name);
  const int done = erased ? ::unlink(to.c_str())
                          : ::rename((to + std::string(kHalfWritten)).c_str(), to.c_str());
  if (done != 0 && errno != ENOENT) return failed(ErrorKind::kInDoubt, "cannot change " + to);
  semel::failpoint::hit(environment_, "directory.changed");
  return {};
}

Result<void> Directory::begin_commit(std::span<const Change> changes) {
  std::string lines;
  for (const Change& change : changes) {
    (lines += change.content ? kReplaced : kErased) += change.name + '\n';
  }
  if (auto written = write_beside({kCommit, lines}); !written) return written;
  // The lines are written after all that they name.
  if (auto synced = sync_folder(); !synced) {
    synced.error().kind = ErrorKind::kUnavailable;
    return synced;
  }
  if (auto begun = put_in_place(kCommit, false); !begun) return begun;
  if (auto synced = sync_folder(); !synced) return synced;
  semel::failpoint::hit(environment_, "directory.committed");
  return {};
}

Result<void> Directory::complete_commit() {
  auto commit = read(kCommit);
  if (!commit) return failure(std::move(commit.error()));
  if (!*commit) return {};
  std::istringstream lines(**commit);
  for (std::string line; std::getline(lines, line);) {
    const bool erased = line.front() == kErased;
    if (auto changed = put_in_place(line.substr(1), erased); !changed) return changed;
  }
  if (auto synced = sync_folder(); !synced) return synced;
  // Gone for good before the next change: else it would be made again over that.
  if (::unlink(file(kCommit).c_str()) != 0) {
    return failed(ErrorKind::kInDoubt, "cannot remove " + file(kCommit));
  }
  return sync_folder();
}

Result<void> Directory::write(std::span<const Change> changes) {
  if (broken_) return failure(broken());
  for (const Change& change : changes) {
    if (!change.content) continue;
    if (auto written = write_beside(change); !written) return written;
  }
  if (changes.empty()) return sync_folder();
  semel::failpoint::hit(environment_, semel::failpoint::kCommitBefore);
  // One file takes its place as a whole by itself.
  const bool several = changes.size() > 1;
  auto done = several ? begin_commit(changes)
                      : put_in_place(changes.front().name, !changes.front().content);
  if (done) done = several ? complete_commit() : sync_folder();
  if (!done) return done;
  semel::failpoint::hit(environment_, semel::failpoint::kCommitAfter);
  return {};
}

// In its place and not by a rename: a new file could be lost whole, and the epoch with it.
Result<std::uint64_t> Directory::count(std::uint32_t by, bool epoch) {
  std::uint64_t number = 0;
  const bool read = ::pread(counter_.get(), &number, sizeof number, 0) >= 0;
  number = epoch ? ((number >> 32U) + by) << 32U : number + by;
  const bool kept = read && ::pwrite(counter_.get(), &number, sizeof number, 0) == sizeof number &&
                    (!epoch || (::fsync(counter_.get()) == 0 && ::fsync(folder_.get()) == 0));
  if (!kept) return failed(ErrorKind::kUnavailable, "cannot count in " + path_);
  return number;
}

}  // namespace directory_store
