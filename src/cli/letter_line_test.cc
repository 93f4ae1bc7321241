// A dead letter that is exported and imported: no byte is lost or changed unnoticed.
#include "cli/letter_line.h"

#include <gtest/gtest.h>

#include <random>

namespace semel::cli {
namespace {

Bytes some_bytes(std::mt19937& random, bool any) {
  Bytes bytes;
  for (std::size_t left = random() % 40; left > 0; --left) {
    bytes += any ? static_cast<char>(random() % 256) : static_cast<char>(' ' + random() % 90);
  }
  return bytes;
}

DeadLetter some_letter(std::mt19937& random) {
  const auto bytes = [&] { return some_bytes(random, random() % 2 == 0); };
  DeadLetter letter;
  letter.consumer = "payments";
  letter.key = bytes();
  for (auto& byte : letter.fingerprint.bytes) byte = static_cast<unsigned char>(random());
  letter.reason = "handler.native";
  letter.error = bytes();
  letter.attempts = static_cast<int>(random() % 1000);
  letter.partition = bytes();
  letter.position = bytes();
  letter.payload = bytes();
  for (std::size_t left = random() % 4; left > 0; --left) {
    letter.headers.push_back({bytes(), bytes()});
  }
  letter.content_type = bytes();
  letter.type = bytes();
  letter.first_seen = StoreTime(std::chrono::milliseconds(random()));
  letter.dead_at = StoreTime(std::chrono::milliseconds(random()));
  letter.replayed = static_cast<int>(random() % 10);
  return letter;
}

TEST(LetterLine, ComesBackAsItWas) {
  std::mt19937 random(20'260'102);
  LetterReader reader;
  for (int i = 0; i < 500; ++i) {
    const DeadLetter letter = some_letter(random);
    const std::string line = letter_line(letter).text();
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const auto read = reader.read(line);
    ASSERT_TRUE(read) << read.error().message << "\n" << line;
    EXPECT_EQ(read->consumer, letter.consumer);
    EXPECT_EQ(read->key, letter.key);
    EXPECT_EQ(read->fingerprint, letter.fingerprint);
    EXPECT_EQ(read->reason, letter.reason);
    EXPECT_EQ(read->error, letter.error);
    EXPECT_EQ(read->attempts, letter.attempts);
    EXPECT_EQ(read->partition, letter.partition);
    EXPECT_EQ(read->position, letter.position);
    EXPECT_EQ(read->payload, letter.payload);
    ASSERT_EQ(read->headers.size(), letter.headers.size());
    for (std::size_t h = 0; h < letter.headers.size(); ++h) {
      EXPECT_EQ(read->headers[h].name, letter.headers[h].name);
      EXPECT_EQ(read->headers[h].value, letter.headers[h].value);
    }
    EXPECT_EQ(read->content_type, letter.content_type);
    EXPECT_EQ(read->type, letter.type);
    EXPECT_EQ(read->first_seen, letter.first_seen);
    EXPECT_EQ(read->dead_at, letter.dead_at);
    EXPECT_EQ(read->replayed, letter.replayed);
  }
}

TEST(LetterLine, WhatIsNotOneIsRefused) {
  std::mt19937 random(1);
  DeadLetter letter = some_letter(random);
  letter.payload = "the payload";
  letter.attempts = 7;
  const std::string line = letter_line(letter).text();
  LetterReader reader;
  ASSERT_TRUE(reader.read(line));
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string changed = line;
    const auto at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    const auto read = reader.read(changed);
    EXPECT_FALSE(read) << changed;
    if (read) return std::string();
    EXPECT_FALSE(read.error().hint.empty());
    return read.error().message;
  };
  EXPECT_NE(with("dead_letter_export", "something").find("schema"), std::string::npos);
  EXPECT_NE(with("the payload", "my payload").find("payload_sha256"), std::string::npos);
  EXPECT_NE(with("\"attempts\":7", "\"attempts\":-7").find("attempts"), std::string::npos);
  EXPECT_NE(with("\"attempts\":7", "\"attempts\":70000000000").find("range"), std::string::npos);
  EXPECT_NE(with("\"consumer\"", "\"consumed\"").find("consumer"), std::string::npos);
  EXPECT_NE(with("\"fingerprint\":\"", "\"fingerprint\":\"x").find("fingerprint"),
            std::string::npos);
  for (const char* bad : {"", "{", "[]", "7", "{}", "{\"schema\":\"semel.v1.dead_letter\"}"}) {
    EXPECT_FALSE(reader.read(bad)) << bad;
  }
  EXPECT_FALSE(reader.read(line.substr(0, line.size() / 2)));
}

}  // namespace
}  // namespace semel::cli
