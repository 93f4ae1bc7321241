// FileWatch: reports possible changes of a file, or of its name's entry in its directory.
#pragma once

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
  // Also watches this open file, wherever it is renamed to.
  void add(int fd);
  void clear() noexcept;

 private:
  system::Descriptor inotify_;
  bool works_ = false;
};

}  // namespace semel::sources
