// FileWatch: tells that a file, or what its folder holds under its name, may have changed.
#pragma once

#include <string>

#include "system/descriptor.h"

namespace semel::sources {

class FileWatch {
 public:
  // False from `works` where the kernel cannot tell: no watches left, or a network file system,
  // whose other machines' writes are not told. Then only looking again helps.
  explicit FileWatch(const std::string& folder);
  bool works() const noexcept { return works_; }

  // Readable when something happened; -1 where it does not work at all.
  int fd() const noexcept { return inotify_.get(); }
  // Also this open file, wherever it is renamed to.
  void add(int fd);
  void clear() noexcept;

 private:
  system::Descriptor inotify_;
  bool works_ = false;
};

}  // namespace semel::sources
