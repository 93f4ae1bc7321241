// An SQLite VFS whose disk forgets, at a power cut, what was not synced; and which can be full.
//
// Writes are kept aside until the file is synced. For one process at a time. Names of files are
// those of the real file system: what was synced lies there.
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

  // Everything that is open fails from now on. Of the writes that were not synced those are lost
  // for which `keep` says no; null: all. Returns how many were lost.
  std::size_t cut_power(const std::function<bool()>& keep = nullptr);
  // What is opened from now on works. Connections of before must be closed first.
  void restore_power(const std::string& database);

  // How many bytes may still be written; then the disk is full. Negative: as many as wanted.
  void set_room(std::int64_t bytes);
  // How often a write was refused for want of room.
  std::size_t refused() const;
  std::size_t syncs() const;
};

}  // namespace semel::test
