// Directory: files that change as a whole, in one process at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/environment.h>
#include <semel/result.h>

namespace directory_store {

// An open file, closed with the object.
class File {
 public:
  File(const std::string& path, int flags) noexcept;
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const noexcept { return fd_; }  // negative: it could not be opened

 private:
  int fd_;
};

// A file's new content; none: the file goes.
struct Change {
  std::string name;
  std::optional<std::string> content;
};

class Directory {
 public:
  // Makes it where it is missing, and removes what a process that died has left half-written.
  static semel::Result<std::unique_ptr<Directory>> open(const std::string& path,
                                                        semel::Environment& environment);

  // Runs `work` while no other thread and no other process does: a process that dies frees the
  // lock. kBlocked where others hold it for too long. All calls below belong in there.
  template <class Work>
  auto locked(Work&& work) -> decltype(work()) {
    const std::scoped_lock one_thread(mutex_);
    if (auto got = lock_out_processes(); !got) return semel::failure(std::move(got.error()));
    const Unlock unlock{lock_.get()};
    if (auto done = complete_commit(); !done) {
      done.error().kind = semel::ErrorKind::kUnavailable;  // `work` has done nothing
      return semel::failure(std::move(done.error()));
    }
    return work();
  }

  semel::Result<std::vector<std::string>> names(std::string_view prefix) const;
  semel::Result<std::optional<std::string>> read(const std::string& name) const;
  // All of them or none, also where the process is killed or the power cut; durable on return, with
  // what a process that was killed has left in its place. kUnavailable: nothing has changed.
  // kInDoubt: all is as it was or as it is to be. A sync that failed once is not mended by the
  // next, which says nothing: from then on all is kUnavailable until the directory is opened anew.
  semel::Result<void> write(std::span<const Change> changes);
  // Raises the directory's number by `by` and returns it. With `epoch` its high half, durably; a
  // power cut may undo the others.
  semel::Result<std::uint64_t> count(std::uint32_t by, bool epoch);

 private:
  struct Unlock {
    int fd;
    ~Unlock();
  };

  Directory(std::string path, semel::Environment& environment);
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  semel::Result<void> lock_out_processes();
  semel::Result<void> write_beside(const Change& change) const;
  // The names of the changes take their place before the first of the changes does: from then on
  // all of them are made, by whoever has the lock next if need be.
  semel::Result<void> begin_commit(std::span<const Change> changes);
  // Makes the changes of a commit that was begun, if there is one.
  semel::Result<void> complete_commit();
  semel::Result<void> put_in_place(const std::string& name, bool erased) const;
  semel::Result<void> sync_folder();
  semel::Error broken() const;

  const std::string path_;
  semel::Environment& environment_;
  std::mutex mutex_;
  const File folder_, lock_, counter_;
  bool broken_ = false;  // a sync has failed
};

}  // namespace directory_store
