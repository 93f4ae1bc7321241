#include "system/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

namespace semel::system {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
Descriptor opened() { return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TEST(Descriptor, IsClosedWithItsOwner) {
  int fd = -1;
  {
    const Descriptor owner = opened();
    fd = owner.get();
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(Descriptor, ANewOneClosesTheOldAtOnce) {
  Descriptor one = opened();
  Descriptor two = opened();
  const int old = one.get();
  const int kept = two.get();
  one = std::move(two);
  EXPECT_EQ(one.get(), kept);
  EXPECT_TRUE(is_open(kept));
  EXPECT_FALSE(is_open(old));
  one.close();
  EXPECT_FALSE(one.valid());
  EXPECT_FALSE(is_open(kept));
}

}  // namespace
}  // namespace semel::system
