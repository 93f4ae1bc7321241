#include "core/unkept_payload.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

Message::Parts parts_of(BytesView payload) {
  Message::Parts parts;
  parts.key.text = "k";
  parts.payload = payload;
  return parts;
}

TEST(UnkeptPayload, AllButThePayloadStays) {
  Message::Parts parts = parts_of("0123456789");
  parts.headers = {{"trace", "t1"}};
  parts.type = "order";
  parts.fingerprint.bytes[0] = 7;
  const Message whole(parts);
  const Message bare = without_payload(whole);
  EXPECT_EQ(bare.key().text, "k");
  EXPECT_EQ(bare.fingerprint(), whole.fingerprint());
  EXPECT_EQ(bare.type(), "order");
  EXPECT_EQ(bare.header("trace"), "t1");
  EXPECT_TRUE(bare.payload().empty());
  EXPECT_EQ(unkept_payload(bare), "10");
}

TEST(UnkeptPayload, AWholeMessageIsNoneOfThese) {
  EXPECT_FALSE(unkept_payload(Message(parts_of("{}"))));
  EXPECT_FALSE(unkept_payload(Message(parts_of(""))));
  Message::Parts forged = parts_of("{}");
  forged.headers = {{std::string(kUnkeptPayload), "5"}};
  EXPECT_FALSE(unkept_payload(Message(forged))) << "its payload is there";
}

TEST(UnkeptPayload, TheTextNamesTheSize) {
  EXPECT_EQ(unkept_text(10, "the server takes 9"),
            "its payload of 10 bytes is not kept: the server takes 9");
}

}  // namespace
}  // namespace semel::core
