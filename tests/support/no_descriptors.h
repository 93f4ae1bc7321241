// NoDescriptors: while it lives, this process opens no file, socket or other descriptor more.
#pragma once

#include <sys/eventfd.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "system/descriptor.h"

namespace semel::test {

// Other threads of the process must not close any meanwhile.
class NoDescriptors {
 public:
  // `left`: how many may still be opened.
  explicit NoDescriptors(std::size_t left = 0) {
    ::getrlimit(RLIMIT_NOFILE, &limit_);
    // A limit within reach: there may be a million of them.
    constexpr rlim_t kFew = 256;
    rlimit low = limit_;
    low.rlim_cur = std::min(low.rlim_cur, kFew);
    ::setrlimit(RLIMIT_NOFILE, &low);
    for (;;) {
      system::Descriptor one(::eventfd(0, EFD_CLOEXEC));
      if (!one.valid()) break;
      taken_.push_back(std::move(one));
    }
    for (; left > 0 && !taken_.empty(); --left) taken_.pop_back();
  }
  ~NoDescriptors() {
    taken_.clear();
    ::setrlimit(RLIMIT_NOFILE, &limit_);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit limit_{};
  std::vector<system::Descriptor> taken_;
};

}  // namespace semel::test
