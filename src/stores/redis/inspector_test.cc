// An operator inspects a store, on a real server.
#include <semel/admin/records.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "stores/redis/test_place.h"

namespace semel::redis {
namespace {

class Inspected : public ::testing::Test {
 protected:
  RecordInspector& records() { return *place_.store().facets().records; }
  std::vector<std::string> wrong(bool full = true) {
    std::vector<std::string> words;
    const auto findings = records().verify(full);
    EXPECT_TRUE(findings.has_value()) << (findings ? "" : findings.error().message);
    for (const StoreFinding& one : findings.value_or(std::vector<StoreFinding>())) {
      EXPECT_TRUE(one.wrong);
      words.push_back(one.what);
    }
    std::ranges::sort(words);
    return words;
  }
  void complete(const Message& message) {
    ASSERT_EQ(place_.finish(test::completed(place_.acquire(message))).value(), Applied::kYes);
  }

  TestPlace place_{shared()};
};

using FindingNames = std::vector<std::string>;

TEST_F(Inspected, ThousandsAreListedOnceEachAndWhatIsCompletedIsNot) {
  constexpr int kUnfinished = 2'500;
  std::vector<Message> messages;
  for (int i = 0; i < kUnfinished; ++i) messages.push_back(place_.message(fmt::format("k{}", i)));
  std::vector<const Message*> all;
  for (const Message& one : messages) all.push_back(&one);
  ASSERT_TRUE(place_.store().claim(all, {60s, {}, false}).has_value());
  for (int i = 0; i < 50; ++i) complete(place_.message(fmt::format("done{}", i)));
  const auto listed = records().list(place_.consumer(), std::nullopt, 10'000).value();
  std::set<Bytes> keys;
  for (const RecordView& one : listed) keys.insert(one.key);
  EXPECT_EQ(listed.size(), kUnfinished);
  EXPECT_EQ(keys.size(), kUnfinished);
  const auto first = records().list(std::nullopt, RecordState::kConsuming, 7).value();
  ASSERT_EQ(first.size(), 7U);
  EXPECT_TRUE(std::ranges::is_sorted(first, {}, &RecordView::id));
  EXPECT_EQ(first.front().id, listed.front().id);
}

// The characters of a pattern in a prefix are taken literally.
TEST_F(Inspected, APrefixIsNoPattern) {
  RedisOptions options = place_.options();
  options.prefix += "[a*?]\\^-:";
  const auto odd = open_store(options, {}).value();
  const auto consumer = odd->attach({"payments", "recipe", false, {}}).value();
  const Message m = test::make_message(consumer, "theirs");
  const Message* one = &m;
  ASSERT_TRUE(odd->claim({&one, 1}, {60s, {}, false}).has_value());
  const auto listed = odd->facets().records->list(std::nullopt, std::nullopt, 10).value();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].key, "theirs");
  place_.acquire(place_.message("mine"));
  EXPECT_EQ(odd->facets().records->list({}, {}, 10).value().size(), 1U);
  EXPECT_EQ(records().list({}, {}, 10).value().size(), 1U) << "nor is a longer prefix its own";
}

TEST_F(Inspected, VerifyFindsWhatDoesNotAgree) {
  const Message held = place_.message("held");
  place_.acquire(held);
  complete(place_.message("done"));
  EXPECT_EQ(wrong(), FindingNames());
  place_.server().run({"PEXPIRE", place_.name(held), "600000"});
  EXPECT_EQ(wrong(), FindingNames{"record.expires"});
  EXPECT_EQ(wrong(false), FindingNames()) << "that one is looked for only where all is";
  place_.server().run({"PERSIST", place_.name(held)});
  place_.server().run({"SET", place_.name(place_.message("text")), "x"});
  place_.server().run({"LPUSH", place_.name(place_.message("list")), "x"});
  EXPECT_EQ(wrong(), (FindingNames{"record.unreadable", "record.unreadable"}));
  const Names names(place_.prefix());
  place_.server().run({"DEL", place_.name(place_.message("text")),
                       place_.name(place_.message("list")), names.numbers});
  EXPECT_EQ(wrong(), FindingNames{"consumer.number"});
  place_.server().run({"DEL", names.consumers});
  EXPECT_EQ(wrong(), (FindingNames{"record.consumer_missing", "record.consumer_missing"}));
}

TEST_F(Inspected, WhatANewerSemelWroteIsNotForgotten) {
  const Message newer = place_.message("newer");
  place_.server().run({"SET", place_.name(newer), "\x03 and what it means by it"});
  EXPECT_EQ(records().show(newer.key().id).error().code, "R210");
  EXPECT_EQ(records().forget(newer.key().id).error().code, "R210");
  EXPECT_EQ(records().unlock(newer.key().id).error().code, "R210");
  EXPECT_EQ(place_.server().run({"EXISTS", place_.name(newer)}), "1");
}

TEST_F(Inspected, StatsTellHowMuchMemoryARecordTakes) {
  EXPECT_EQ(records().stats()->record_bytes, 0U) << "there is none";
  // The prefix of a test is longer than the usual one.
  constexpr int kCompleted = 300;
  for (int i = 0; i < kCompleted; ++i) complete(place_.message(fmt::format("k{}", i)));
  const auto stats = records().stats().value();
  EXPECT_GT(stats.record_bytes, 80U);
  EXPECT_LT(stats.record_bytes, 260U);
  EXPECT_GE(stats.bytes, kCompleted * stats.record_bytes);
  EXPECT_EQ(stats.schema_version, 1);
}

}  // namespace
}  // namespace semel::redis
