#include "core/http_source_spec.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

TEST(HttpSourceSpec, APathIsThatOfAUrl) {
  for (const char* path : {"/", "/hooks/orders", "/a%20b", "/~x;y=1"}) {
    EXPECT_EQ(http_path_flaw(path), std::nullopt) << path;
  }
  EXPECT_EQ(http_path_flaw("hooks"), "does not begin with /");
  EXPECT_EQ(http_path_flaw(""), "does not begin with /");
  for (const char* path : {"/a b", "/a?b", "/a#b", "/\xC3\xA4", "/a\n"}) {
    EXPECT_NE(http_path_flaw(path), std::nullopt) << path;
  }
}

TEST(HttpSourceSpec, APrefixIsAPathWithoutAnEnd) {
  EXPECT_EQ(http_prefix_flaw("/hooks"), std::nullopt);
  EXPECT_EQ(http_prefix_flaw("/a/b"), std::nullopt);
  EXPECT_EQ(http_prefix_flaw("/"), "ends with /");
  EXPECT_EQ(http_prefix_flaw("/hooks/"), "ends with /");
  EXPECT_EQ(http_prefix_flaw("hooks"), "does not begin with /");
}

}  // namespace
}  // namespace semel::core
