#include "core/publication_key.h"

#include <gtest/gtest.h>

#include <set>

namespace semel::core {
namespace {

TEST(PublicationKey, TheFirstHasItsMessagesKeyAndTheOthersANumber) {
  for (const char* key : {"order-17", "", "a/b", "17", "a/", "a/2b", "a/-2", "a//"}) {
    EXPECT_EQ(publication_key(key, 1), key);
    EXPECT_EQ(publication_key(key, 2), Bytes(key) + "/2");
    EXPECT_EQ(publication_key(key, 12), Bytes(key) + "/12");
  }
}

TEST(PublicationKey, AKeyThatEndsInANumberHasOneOnTheFirstToo) {
  for (const char* key : {"orders/1", "orders/1/2", "/7", "a/02", "a/99999999999999999999"}) {
    EXPECT_EQ(publication_key(key, 1), Bytes(key) + "/1");
    EXPECT_EQ(publication_key(key, 2), Bytes(key) + "/2");
  }
}

TEST(PublicationKey, NoTwoShareOne) {
  std::set<Bytes> messages = {"", "a", "orders", "orders/1b"};
  for (int depth = 0; depth < 3; ++depth) {
    std::set<Bytes> longer = messages;
    for (const Bytes& key : messages) {
      for (const char* end : {"/", "/0", "/1", "/2", "/02", "/12", "/x"}) longer.insert(key + end);
    }
    messages = longer;
  }
  std::set<Bytes> keys;
  std::size_t made = 0;
  for (const Bytes& message : messages) {
    for (const int number : {1, 2, 3, 12}) {
      keys.insert(publication_key(message, number));
      ++made;
    }
  }
  EXPECT_EQ(keys.size(), made);
}

}  // namespace
}  // namespace semel::core
