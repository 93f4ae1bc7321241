#include "base/text_encoding.h"

#include <gtest/gtest.h>

#include <random>

#include "base/digest.h"

namespace semel {
namespace {

// RFC 4648, section 10.
TEST(TextEncoding, GivesTheExamplesOfItsStandard) {
  EXPECT_EQ(text::base64(""), "");
  EXPECT_EQ(text::base64("f"), "Zg==");
  EXPECT_EQ(text::base64("fo"), "Zm8=");
  EXPECT_EQ(text::base64("foo"), "Zm9v");
  EXPECT_EQ(text::base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(text::base64("\xff\xff\xff\xff"), "/////w==");
  EXPECT_EQ(text::base32(""), "");
  EXPECT_EQ(text::base32("f"), "my");
  EXPECT_EQ(text::base32("fooba"), "mzxw6ytb");
  EXPECT_EQ(text::base32("foobar"), "mzxw6ytboi");
}

TEST(TextEncoding, ComesBackFromBase64) {
  std::mt19937 random(7);
  for (std::size_t size = 0; size < 70; ++size) {
    Bytes bytes;
    while (bytes.size() < size) bytes += static_cast<char>(random());
    EXPECT_EQ(text::from_base64(text::base64(bytes)), bytes);
  }
}

TEST(TextEncoding, TakesOneSpellingOnly) {
  for (const auto* text : {"Zg", "Zg=", "Zg===", "Zh==", "Z", "Zm9v\n", "Zm 9v", "=",
                           "====", "Zm9-", "Zg==Zg==", "Z===", "Zg=a", "Zm8=x", "Z*=="}) {
    EXPECT_FALSE(text::from_base64(text)) << text;
  }
}

// RFC 4231, test cases 1, 2 and 6 (a key longer than a block).
TEST(Hmac, GivesTheExamplesOfItsStandard) {
  const auto hex = [](BytesView key, BytesView data) {
    return digest::hex(digest::view(digest::hmac_sha256(key, data)));
  };
  EXPECT_EQ(hex(Bytes(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(Bytes(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

}  // namespace
}  // namespace semel
