#include "core/key_encoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace semel::core {
namespace {

constexpr ConsumerNumber kEncodedConsumer{7};

KeyId id(BytesView text) { return encode_key(kEncodedConsumer, text); }
KeyClass class_of_text(BytesView text) { return class_of(id(text)); }

TEST(EncodeKey, KnowsTheClasses) {
  EXPECT_EQ(class_of_text("018f4e6e-1b2c-7def-8123-456789abcdef"), KeyClass::kUuid);
  EXPECT_EQ(class_of_text("00000000-0000-0000-0000-000000000000"), KeyClass::kUuid);
  EXPECT_EQ(class_of_text("01ARZ3NDEKTSV4RRFFQ69G5FAV"), KeyClass::kUlid);
  EXPECT_EQ(class_of_text("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"), KeyClass::kUlid);
  EXPECT_EQ(class_of(encode_position(kEncodedConsumer, "orders-3", 17)), KeyClass::kPosition);
  EXPECT_EQ(class_of_text("order-17"), KeyClass::kDigest);
}

TEST(EncodeKey, AConsumersIdsStandBetweenItsFirstAndItsLast) {
  const auto [first, last] = ids_of(kEncodedConsumer);
  for (const KeyId& one : {id("018f4e6e-1b2c-7def-8123-456789abcdef"), id("order-17"),
                           encode_position(kEncodedConsumer, "orders-3", ~std::uint64_t{0})}) {
    EXPECT_LE(first, one);
    EXPECT_GE(last, one);
  }
  EXPECT_LT(ids_of(ConsumerNumber{6}).second, first);
  EXPECT_GT(ids_of(ConsumerNumber{8}).first, last);
}

TEST(EncodeKey, OnlyOneSpellingOfAnIdIsTheId) {
  for (const char* text :
       {"018F4E6E-1B2C-7DEF-8123-456789ABCDEF", "018f4e6e-1b2c-7def-8123-456789abcdeF",
        "{018f4e6e-1b2c-7def-8123-456789abcdef}", "018f4e6e1b2c7def8123456789abcdef",
        "018f4e6e-1b2c-7def-8123-456789abcde", "018f4e6e-1b2c-7def-8123-456789abcdef ",
        "018f4e6e_1b2c-7def-8123-456789abcdef", "018f4e6e-1b2c-7def-8123-456789abcdeg",
        "01arz3ndektsv4rrffq69g5fav", "01ARZ3NDEKTSV4RRFFQ69G5FAv", "01ARZ3NDEKTSV4RRFFQ69G5FAI",
        "01ARZ3NDEKTSV4RRFFQ69G5FAL", "01ARZ3NDEKTSV4RRFFQ69G5FAO", "01ARZ3NDEKTSV4RRFFQ69G5FAU",
        "81ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FA", "", " "}) {
    EXPECT_EQ(class_of_text(text), KeyClass::kDigest) << text;
  }
  EXPECT_EQ(class_of_text(std::string(26, '\0')), KeyClass::kDigest);
  EXPECT_EQ(class_of_text(std::string(36, '\xFF')), KeyClass::kDigest);
}

TEST(EncodeKey, AUuidIsItsBytes) {
  const KeyId encoded = id("018f4e6e-1b2c-7def-8123-456789abcdef");
  const std::array<unsigned char, 20> expected = {0,    0,    0,    7 << 2 | 1, 0x01, 0x8f, 0x4e,
                                                  0x6e, 0x1b, 0x2c, 0x7d,       0xef, 0x81, 0x23,
                                                  0x45, 0x67, 0x89, 0xab,       0xcd, 0xef};
  EXPECT_EQ(encoded.bytes, expected);
}

TEST(EncodeKey, AUlidIsItsNumber) {
  const KeyId most = id("7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
  EXPECT_TRUE(std::all_of(most.bytes.begin() + 4, most.bytes.end(),
                          [](unsigned char byte) { return byte == 0xFF; }));
  EXPECT_EQ(id("00000000000000000000000001").bytes.back(), 1);
  EXPECT_EQ(id("0000000000000000000000000Z").bytes.back(), 31);
}

TEST(EncodeKey, KeepsTheConsumerNumber) {
  for (std::uint32_t number : {0U, 1U, 255U, 256U, 70'000U, kMaxConsumerNumber}) {
    const ConsumerNumber consumer{number};
    EXPECT_EQ(encode_key(consumer, "x").consumer(), consumer);
    EXPECT_EQ(encode_position(consumer, "p", 1).consumer(), consumer);
  }
  EXPECT_NE(encode_key(ConsumerNumber{1}, "x"), encode_key(ConsumerNumber{2}, "x"));
  EXPECT_LT(encode_position(ConsumerNumber{1}, "p", ~0ULL),
            encode_position(ConsumerNumber{2}, "p", 0));
}

TEST(EncodeKeyDeathTest, ANumberThatDoesNotFitAborts) {
  EXPECT_DEATH(encode_key(ConsumerNumber{kMaxConsumerNumber + 1}, "x"), "too large");
}

TEST(EncodePosition, CountsWithinItsPartition) {
  EXPECT_LT(encode_position(kEncodedConsumer, "p", 9), encode_position(kEncodedConsumer, "p", 10));
  EXPECT_LT(encode_position(kEncodedConsumer, "p", 255),
            encode_position(kEncodedConsumer, "p", 256));
  EXPECT_NE(encode_position(kEncodedConsumer, "p", 9), encode_position(kEncodedConsumer, "q", 9));
}

TEST(EncodeRefused, NamesWhatCameAndWhere) {
  const KeyId one = encode_refused(kEncodedConsumer, "p", "1", "x");
  EXPECT_EQ(one, encode_refused(kEncodedConsumer, "p", "1", "x"));
  EXPECT_NE(one, encode_refused(kEncodedConsumer, "p", "2", "x"));
  EXPECT_NE(one, encode_refused(kEncodedConsumer, "p1", "", "x"));
  EXPECT_NE(one, encode_refused(kEncodedConsumer, "p", "1", "y"));
  EXPECT_EQ(class_of(one), KeyClass::kDigest);
}

std::string random_uuid(std::mt19937_64& random) {
  const std::uint64_t a = random(), b = random();
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", a >> 32, a >> 16 & 0xFFFF, a & 0xFFFF,
                     b >> 48, b & 0xFFFF'FFFF'FFFF);
}
std::string random_ulid(std::mt19937_64& random) {
  constexpr std::string_view kDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  std::string text(26, '0');
  for (char& c : text) c = kDigits[random() % kDigits.size()];
  text[0] = static_cast<char>('0' + random() % 8);
  return text;
}
// Texts near the classes' borders: an id with one byte changed, or any bytes.
std::string random_text(std::mt19937_64& random) {
  std::string text = random() % 2 == 0 ? random_uuid(random) : random_ulid(random);
  switch (random() % 4) {
    case 0:
      return text;
    case 1:
      text[random() % text.size()] = static_cast<char>(random() % 256);
      return text;
    case 2:
      for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      return text;
    default:
      text.resize(random() % 40);
      for (char& c : text) c = static_cast<char>(random() % 3);
      return text;
  }
}

TEST(EncodeKey, KeepsTheOrderWithinAClass) {
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  for (auto* make : {&random_uuid, &random_ulid}) {
    std::vector<std::string> texts(2'000);
    for (std::string& text : texts) text = make(random);
    std::sort(texts.begin(), texts.end());
    for (std::size_t i = 1; i < texts.size(); ++i) {
      ASSERT_EQ(texts[i - 1] < texts[i], id(texts[i - 1]) < id(texts[i])) << "seed " << seed;
    }
  }
}

TEST(EncodeKey, NoTwoTextsMeet) {
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  std::map<KeyId, std::string> seen;
  std::set<KeyClass> classes;
  for (int i = 0; i < 50'000; ++i) {
    const std::string text = random_text(random);
    const KeyId encoded = id(text);
    const auto [known, fresh] = seen.try_emplace(encoded, text);
    ASSERT_EQ(known->second, text) << "seed " << seed;
    classes.insert(class_of(encoded));
  }
  EXPECT_EQ(classes.size(), 3U);
  for (std::uint64_t position = 0; position < 1'000; ++position) {
    ASSERT_FALSE(seen.contains(encode_position(kEncodedConsumer, "p", position)));
  }
}

}  // namespace
}  // namespace semel::core
