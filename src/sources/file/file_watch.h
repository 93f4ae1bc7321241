// FileWatch: reports possible changes of a file, or of its name's entry in its directory.
#pragma once

#include <map>
#include <string>

#include "system/descriptor.h"

namespace semel::sources {

class FileWatch {
 public:
  // `works` is false where the kernel cannot report changes: no watches are left, or it is a
  // network file system, whose kernel does not see writes of other machines. Then the caller must
  // poll.
  explicit FileWatch(const std::string& folder);
  bool works() const noexcept { return works_; }

  // Readable when something happened; -1 if inotify is not available.
  int fd() const noexcept { return inotify_.get(); }
  // Also watches this open file, wherever it is renamed to. The result is for `remove`. A file that
  // is added twice is watched until it was removed twice.
  int add(int fd);
  void remove(int watch) noexcept;
  void clear() noexcept;

 private:
  system::Descriptor inotify_;
  std::map<int, int> uses_;  // by watch; the kernel has one for each file
  bool works_ = false;
};

}  // namespace semel::sources
