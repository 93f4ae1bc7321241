#include "tests/support/unsynced_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace semel::test {
namespace {

struct Write {
  sqlite3_int64 at;
  std::vector<char> bytes;
};

// One file as the page cache has it: the data on the disk, and the writes on top.
struct Cached {
  std::vector<Write> unsynced;
  sqlite3_int64 size = -1;  // as seen; negative: not looked at yet
};

struct Disk {
  std::mutex mutex;
  std::map<std::string, Cached> files;
  std::uint64_t power = 0;  // grows with each cut: earlier opened files are dead
  std::int64_t room = -1;
  std::size_t refused = 0;
  std::size_t syncs = 0;
  sqlite3_vfs* real = nullptr;
};

// A VFS is looked up by name and called without a context of ours.
Disk& disk() {
  static Disk one;
  return one;
}

struct File {
  sqlite3_file base;
  std::uint64_t power;
  Cached* cached;  // null: passed through
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

File* file_of(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
sqlite3_file* real_of(sqlite3_file* file) { return file_of(file)->real(); }
bool power_lost(sqlite3_file* file) { return file_of(file)->power != disk().power; }

int close_file(sqlite3_file* file) { return real_of(file)->pMethods->xClose(real_of(file)); }

int size_of(File* file, sqlite3_int64* size) {
  Cached& cached = *file->cached;
  if (cached.size < 0) {
    const int code = file->real()->pMethods->xFileSize(file->real(), &cached.size);
    if (code != SQLITE_OK) return code;
  }
  *size = cached.size;
  return SQLITE_OK;
}

int read_bytes(sqlite3_file* file, void* into, int amount, sqlite3_int64 at) {
  const std::scoped_lock lock(disk().mutex);
  if (power_lost(file)) return SQLITE_IOERR_READ;
  File* const mine = file_of(file);
  const int code = mine->real()->pMethods->xRead(mine->real(), into, amount, at);
  if (mine->cached == nullptr || (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ))
    return code;
  for (const Write& write : mine->cached->unsynced) {
    const sqlite3_int64 first = std::max(at, write.at);
    const sqlite3_int64 end =
        std::min(at + amount, write.at + static_cast<sqlite3_int64>(write.bytes.size()));
    if (first >= end) continue;
    std::memcpy(static_cast<char*>(into) + (first - at), write.bytes.data() + (first - write.at),
                static_cast<std::size_t>(end - first));
  }
  sqlite3_int64 size = 0;
  const int sized = size_of(mine, &size);
  if (sized != SQLITE_OK) return sized;
  return at + amount <= size ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int write_bytes(sqlite3_file* file, const void* from, int amount, sqlite3_int64 at) {
  Disk& all = disk();
  const std::scoped_lock lock(all.mutex);
  if (power_lost(file)) return SQLITE_IOERR_WRITE;
  if (all.room >= 0) {
    if (all.room < amount) {
      ++all.refused;
      return SQLITE_FULL;
    }
    all.room -= amount;
  }
  File* const mine = file_of(file);
  if (mine->cached == nullptr) {
    return mine->real()->pMethods->xWrite(mine->real(), from, amount, at);
  }
  sqlite3_int64 size = 0;
  if (const int code = size_of(mine, &size); code != SQLITE_OK) return code;
  const char* const bytes = static_cast<const char*>(from);
  mine->cached->unsynced.push_back({at, std::vector<char>(bytes, bytes + amount)});
  mine->cached->size = std::max(size, at + amount);
  return SQLITE_OK;
}

int flush(File* file) {
  for (const Write& write : file->cached->unsynced) {
    const int code = file->real()->pMethods->xWrite(file->real(), write.bytes.data(),
                                                    static_cast<int>(write.bytes.size()), write.at);
    if (code != SQLITE_OK) return code;
  }
  file->cached->unsynced.clear();
  return SQLITE_OK;
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  const std::scoped_lock lock(disk().mutex);
  if (power_lost(file)) return SQLITE_IOERR_TRUNCATE;
  File* const mine = file_of(file);
  if (mine->cached != nullptr) {
    if (const int code = flush(mine); code != SQLITE_OK) return code;
    mine->cached->size = size;
  }
  return mine->real()->pMethods->xTruncate(mine->real(), size);
}

int sync_file(sqlite3_file* file, int flags) {
  const std::scoped_lock lock(disk().mutex);
  if (power_lost(file)) return SQLITE_IOERR_FSYNC;
  ++disk().syncs;
  File* const mine = file_of(file);
  if (mine->cached == nullptr) return mine->real()->pMethods->xSync(mine->real(), flags);
  // The real disk need not turn for it: a cut here is one of the mind.
  return flush(mine);
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  const std::scoped_lock lock(disk().mutex);
  if (power_lost(file)) return SQLITE_IOERR_FSTAT;
  File* const mine = file_of(file);
  return mine->cached != nullptr ? size_of(mine, size)
                                 : mine->real()->pMethods->xFileSize(mine->real(), size);
}

int lock_file(sqlite3_file* file, int level) {
  return real_of(file)->pMethods->xLock(real_of(file), level);
}
int unlock_file(sqlite3_file* file, int level) {
  return real_of(file)->pMethods->xUnlock(real_of(file), level);
}
int check_lock(sqlite3_file* file, int* out) {
  return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}
int control(sqlite3_file* file, int operation, void* argument) {
  // A hint about the future size would enlarge the real file without this VFS.
  if (operation == SQLITE_FCNTL_SIZE_HINT || operation == SQLITE_FCNTL_CHUNK_SIZE) return SQLITE_OK;
  return real_of(file)->pMethods->xFileControl(real_of(file), operation, argument);
}
int sector_size(sqlite3_file* file) { return real_of(file)->pMethods->xSectorSize(real_of(file)); }
int characteristics(sqlite3_file*) { return 0; }
int shm_map(sqlite3_file* file, int region, int size, int extend, void volatile** out) {
  return real_of(file)->pMethods->xShmMap(real_of(file), region, size, extend, out);
}
int shm_lock(sqlite3_file* file, int offset, int n, int flags) {
  return real_of(file)->pMethods->xShmLock(real_of(file), offset, n, flags);
}
void shm_barrier(sqlite3_file* file) { real_of(file)->pMethods->xShmBarrier(real_of(file)); }
int shm_unmap(sqlite3_file* file, int remove) {
  return real_of(file)->pMethods->xShmUnmap(real_of(file), remove);
}

const sqlite3_io_methods kMethods = {
    2,         close_file,  read_bytes, write_bytes, truncate_file, sync_file,       file_size,
    lock_file, unlock_file, check_lock, control,     sector_size,   characteristics, shm_map,
    shm_lock,  shm_barrier, shm_unmap,  nullptr,     nullptr};

int open_file(sqlite3_vfs*, const char* path, sqlite3_file* file, int flags, int* out) {
  Disk& all = disk();
  File* const mine = file_of(file);
  file->pMethods = nullptr;
  const int code = all.real->xOpen(all.real, path, mine->real(), flags, out);
  if (code != SQLITE_OK) return code;
  const std::scoped_lock lock(all.mutex);
  mine->power = all.power;
  const bool kept = path != nullptr && (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) != 0;
  mine->cached = kept ? &all.files[path] : nullptr;
  file->pMethods = &kMethods;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs*, const char* path, int sync_directory) {
  Disk& all = disk();
  const std::scoped_lock lock(all.mutex);
  all.files.erase(path);
  return all.real->xDelete(all.real, path, sync_directory);
}

int access_file(sqlite3_vfs*, const char* path, int flags, int* out) {
  return disk().real->xAccess(disk().real, path, flags, out);
}
int full_path(sqlite3_vfs*, const char* path, int size, char* out) {
  return disk().real->xFullPathname(disk().real, path, size, out);
}
int randomness(sqlite3_vfs*, int size, char* out) {
  return disk().real->xRandomness(disk().real, size, out);
}
int sleep_for(sqlite3_vfs*, int microseconds) {
  return disk().real->xSleep(disk().real, microseconds);
}
int current_time(sqlite3_vfs*, double* out) { return disk().real->xCurrentTime(disk().real, out); }
int last_error(sqlite3_vfs*, int size, char* out) {
  return disk().real->xGetLastError(disk().real, size, out);
}

sqlite3_vfs& vfs() {
  static sqlite3_vfs one{};
  return one;
}

}  // namespace

UnsyncedVfs::UnsyncedVfs() {
  Disk& all = disk();
  all.real = sqlite3_vfs_find(nullptr);
  all.files.clear();
  all.room = -1;
  all.refused = 0;
  all.syncs = 0;
  sqlite3_vfs& mine = vfs();
  mine = {};
  mine.iVersion = 1;
  mine.szOsFile = static_cast<int>(sizeof(File)) + all.real->szOsFile;
  mine.mxPathname = all.real->mxPathname;
  mine.zName = name();
  mine.xOpen = open_file;
  mine.xDelete = delete_file;
  mine.xAccess = access_file;
  mine.xFullPathname = full_path;
  mine.xRandomness = randomness;
  mine.xSleep = sleep_for;
  mine.xCurrentTime = current_time;
  mine.xGetLastError = last_error;
  if (sqlite3_vfs_register(&mine, 0) != SQLITE_OK) {
    std::fputs("the test VFS cannot be registered\n", stderr);
    std::abort();
  }
}

UnsyncedVfs::~UnsyncedVfs() { sqlite3_vfs_unregister(&vfs()); }

std::size_t UnsyncedVfs::cut_power(const std::function<bool()>& keep) {
  Disk& all = disk();
  const std::scoped_lock lock(all.mutex);
  ++all.power;
  std::size_t lost = 0;
  for (auto& [path, cached] : all.files) {
    std::FILE* const file = std::fopen(path.c_str(), "r+b");
    for (const Write& write : cached.unsynced) {
      if (file == nullptr || !keep || !keep()) {
        ++lost;
        continue;
      }
      std::fseek(file, static_cast<long>(write.at), SEEK_SET);
      std::fwrite(write.bytes.data(), 1, write.bytes.size(), file);
    }
    if (file != nullptr) std::fclose(file);
    cached.unsynced.clear();
    cached.size = -1;
  }
  return lost;
}

void UnsyncedVfs::restore_power(const std::string& database) {
  const std::scoped_lock lock(disk().mutex);
  disk().files.clear();
  // Shared memory does not outlive the machine.
  std::remove((database + "-shm").c_str());
}

void UnsyncedVfs::set_room(std::int64_t bytes) {
  const std::scoped_lock lock(disk().mutex);
  disk().room = bytes;
}

std::size_t UnsyncedVfs::refused() const {
  const std::scoped_lock lock(disk().mutex);
  return disk().refused;
}

std::size_t UnsyncedVfs::syncs() const {
  const std::scoped_lock lock(disk().mutex);
  return disk().syncs;
}

}  // namespace semel::test
