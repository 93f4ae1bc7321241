// SideFile: the file next to the database whose bytes are locks.
//
// Locks of open file descriptions (fcntl F_OFD_SETLK): each object has its own, in this process or
// another, and the kernel frees them when the process dies. A stopped process keeps them. The
// file's content does not matter: it may be deleted while no process runs.
#pragma once

#include <cstdint>
#include <string>

namespace semel::sqlite {

class SideFile {
 public:
  // The file for the database at `database`; made where it is missing. Throws Failure.
  static std::string path_for(const std::string& database) { return database + "-semel"; }
  explicit SideFile(const std::string& path);
  ~SideFile();
  SideFile(const SideFile&) = delete;
  SideFile& operator=(const SideFile&) = delete;

  // False where another object has the byte. Never waits.
  bool try_lock(std::int64_t byte);
  void unlock(std::int64_t byte) noexcept;
  // True where another object has locked the byte.
  bool locked_elsewhere(std::int64_t byte) const;
  // False once it was deleted or replaced: later processes lock another file.
  bool in_place() const noexcept;

  // Written by the process that has the turn, so that others can name it; zero: none.
  void set_holder(std::int64_t pid) noexcept;
  std::int64_t holder() const noexcept;

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
  void* page_ = nullptr;
};

// The use of the bytes. None is ever read or written: only locked.
namespace lock_byte {
inline constexpr std::int64_t kGate = 64;
inline constexpr std::int64_t kMain = 65;
inline constexpr std::int64_t kInstances = std::int64_t{1} << 20;     // plus the instance's number
inline constexpr std::int64_t kReservations = std::int64_t{1} << 40;  // plus a digest's first bits
inline constexpr std::int64_t kReservationMask = (std::int64_t{1} << 40) - 1;
}  // namespace lock_byte

}  // namespace semel::sqlite
