#include "base/digest.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace semel::digest {
namespace {

std::string hex_of(const Digest& digest) { return hex(view(digest)); }
Digest parts(std::string_view domain, const std::vector<BytesView>& list) {
  return sha256_parts(domain, list);
}

TEST(Digest, Sha1IsAsTheStandardHasIt) {
  EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
}

TEST(Digest, IsSha256) {
  EXPECT_EQ(hex_of(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_of(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_of(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Digest, PartsKeepTheirBounds) {
  EXPECT_NE(parts("d", {"ab", "c"}), parts("d", {"a", "bc"}));
  EXPECT_NE(parts("d", {"abc"}), parts("d", {"abc", ""}));
  EXPECT_NE(parts("d", {}), parts("d", {""}));
  EXPECT_NE(parts("d", {"x"}), parts("e", {"x"}));
  EXPECT_NE(parts("dx", {}), parts("d", {"x"}));
  EXPECT_EQ(parts("d", {"ab", "c"}), parts("d", {"ab", "c"}));
}

TEST(Digest, ShortIsThePrefix) {
  const Digest digest = sha256("abc");
  const Short cut = shortened(digest);
  EXPECT_TRUE(std::equal(cut.begin(), cut.end(), digest.begin()));
}

TEST(Digest, HexOfAnyByte) {
  EXPECT_EQ(hex(""), "");
  EXPECT_EQ(hex(BytesView("\x00\x7f\x80\xff", 4)), "007f80ff");
}

TEST(Digest, EachThreadHasItsOwn) {
  const Digest expected = sha256("payload");
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int& count : wrong) {
    threads.emplace_back([&count, &expected] {
      for (int i = 0; i < 1000; ++i) count += sha256("payload") == expected ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace semel::digest
