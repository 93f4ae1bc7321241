// FewDescriptors: the process may open only a few more files. For tests.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>

namespace semel::test {

// Until it is destroyed. One thread at a time.
class FewDescriptors {
 public:
  explicit FewDescriptors(int more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    // Earlier tests of the program may have left descriptors open, with gaps between them.
    int limit = 0;
    for (int free = 0; free < more; ++limit) {
      if (::fcntl(limit, F_GETFD) == -1) ++free;
    }
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(limit);
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace semel::test
