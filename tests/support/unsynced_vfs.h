// An SQLite VFS whose disk loses unsynced writes in a power cut, and which can be full.
//
// Writes are held in memory until the file is synced. For one process at a time. File names are
// those of the real file system, which holds the synced data.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace semel::test {

class UnsyncedVfs {
 public:
  // Registered under name() until destroyed; every connection over it must be closed by then.
  UnsyncedVfs();
  ~UnsyncedVfs();
  UnsyncedVfs(const UnsyncedVfs&) = delete;
  UnsyncedVfs& operator=(const UnsyncedVfs&) = delete;

  static const char* name() noexcept { return "semel-unsynced"; }

  // Makes all open files fail from now on. Loses the unsynced writes for which `keep` returns
  // false; null: all. Returns how many were lost.
  std::size_t cut_power(const std::function<bool()>& keep = nullptr);
  // Files that are opened from now on work. Earlier connections must be closed first.
  void restore_power(const std::string& database);

  // How many bytes may still be written; then the disk is full. Negative: as many as wanted.
  void set_room(std::int64_t bytes);
  // How often a write was refused for want of room.
  std::size_t refused() const;
  std::size_t syncs() const;
};

}  // namespace semel::test
