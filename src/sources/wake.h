// Wake: one descriptor to wait on for several things, and for a call from another thread.
#pragma once

#include "system/descriptor.h"

namespace semel::sources {

class Wake {
 public:
  // Throws SemelError (R270) if the process has no descriptors left.
  Wake();
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  // Readable while `notify` was called since the last `clear`, or a watched descriptor is readable.
  int fd() const noexcept { return poll_.get(); }
  // False where the descriptor cannot be polled (a plain file).
  bool watch(int fd) noexcept;
  void unwatch(int fd) noexcept;

  void notify() noexcept;  // thread-safe
  void clear() noexcept;

 private:
  system::Descriptor poll_;
  system::Descriptor event_;
};

}  // namespace semel::sources
