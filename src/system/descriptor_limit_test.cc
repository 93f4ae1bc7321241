#include "system/descriptor_limit.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "system/event_fd.h"
#include "tests/support/no_descriptors.h"

namespace semel::system {
namespace {

TEST(DescriptorLimit, IsNamed) {
  EXPECT_FALSE(descriptor_limit_now("x"));
  EXPECT_FALSE(descriptor_limit(ENOENT, "x"));
  EXPECT_NE(descriptor_limit(ENFILE, "x")->message.find("the machine"), std::string::npos);
  const test::NoDescriptors none;
  const auto error = descriptor_limit_now("the watch");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, "R270");
  EXPECT_EQ(error->kind, ErrorKind::kUnavailable);
  EXPECT_NE(error->message.find("the watch"), std::string::npos) << error->message;
  EXPECT_NE(error->hint.find("ulimit -n"), std::string::npos) << error->hint;
}

TEST(DescriptorLimit, OfAnEventIsThrown) {
  const test::NoDescriptors none;
  try {
    const EventFd event;
    FAIL() << "there was one more";
  } catch (const SemelError& thrown) {
    EXPECT_EQ(thrown.error().code, "R270");
  }
}

}  // namespace
}  // namespace semel::system
