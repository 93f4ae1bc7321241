// SideFile: the file beside the database whose bytes are locks.
//
// Locks of open file descriptions (fcntl F_OFD_SETLK): each object has its own, whether in this
// process or another, and the kernel frees them when the process dies. A stopped process keeps
// them. The file holds nothing that matters: it may be deleted while nobody runs.
#pragma once

#include <cstdint>
#include <string>

namespace semel::sqlite {

class SideFile {
 public:
  // The file beside the database at `database`; made where it is missing. Throws Failure.
  static std::string path_for(const std::string& database) { return database + "-semel"; }
  explicit SideFile(const std::string& path);
  ~SideFile();
  SideFile(const SideFile&) = delete;
  SideFile& operator=(const SideFile&) = delete;

  // False where someone else has the byte. Never waits.
  bool try_lock(std::int64_t byte);
  void unlock(std::int64_t byte) noexcept;
  // True where someone else has the byte locked.
  bool locked_elsewhere(std::int64_t byte) const;
  // False once it was deleted, or replaced: those that came later lock another file.
  bool in_place() const noexcept;

  // Written by whoever holds the turn, so that others can name it; zero: nobody.
  void set_holder(std::int64_t pid) noexcept;
  std::int64_t holder() const noexcept;

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
  void* page_ = nullptr;
};

// Who uses which bytes. None is ever read or written: only locked.
namespace lock_byte {
inline constexpr std::int64_t kGate = 64;
inline constexpr std::int64_t kMain = 65;
inline constexpr std::int64_t kInstances = std::int64_t{1} << 20;     // plus the instance's number
inline constexpr std::int64_t kReservations = std::int64_t{1} << 40;  // plus a digest's first bits
inline constexpr std::int64_t kReservationMask = (std::int64_t{1} << 40) - 1;
}  // namespace lock_byte

}  // namespace semel::sqlite
