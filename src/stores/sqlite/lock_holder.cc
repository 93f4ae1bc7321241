#include "stores/sqlite/lock_holder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

namespace semel::sqlite {
namespace {

// Device and inode as /proc/locks writes them; empty where there is no such file.
std::string file_identity(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return {};
  return fmt::format("{:02x}:{:02x}:{}", major(about.st_dev), minor(about.st_dev), about.st_ino);
}

// In the shared memory of a log the writer's lock is one byte; readers lock other bytes.
constexpr long kWriterByte = 120;

}  // namespace

std::optional<long> lock_holder_in(std::string_view proc_locks, long self,
                                   const std::string& database, const std::string& shared_memory) {
  std::istringstream lines{std::string(proc_locks)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, mode, file, first;
    long pid = 0;
    if (!(words >> number >> kind >> advisory >> mode >> pid >> file >> first)) continue;
    if (pid <= 0 || pid == self || mode != "WRITE" || file.empty()) continue;
    const bool writes_log = file == shared_memory && first == std::to_string(kWriterByte);
    if (writes_log || file == database) return pid;
  }
  return std::nullopt;
}

std::optional<long> lock_holder(const std::string& path) {
  std::ifstream locks("/proc/locks");
  const std::string text{std::istreambuf_iterator<char>(locks), std::istreambuf_iterator<char>()};
  return lock_holder_in(text, ::getpid(), file_identity(path), file_identity(path + "-shm"));
}

std::string process_name(long pid) {
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::string name;
  std::getline(file, name);
  return name.empty() ? fmt::format("process {}", pid) : fmt::format("process {} ({})", pid, name);
}

Error locked_error(const std::string& path, std::optional<long> holder) {
  if (holder == ::getpid()) {
    return {ErrorKind::kBlocked, "R206",
            fmt::format("{} is locked by another thread of this process", path),
            "a handler holds the transaction for too long: give it less to do, or more patience"};
  }
  const std::string who = holder ? process_name(*holder) : "another program";
  return {ErrorKind::kBlocked, "R206", fmt::format("{} is locked by {}", path, who),
          "end its transaction, or continue or stop that process"};
}

}  // namespace semel::sqlite
