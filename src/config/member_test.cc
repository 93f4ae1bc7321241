// A row of the schema and the member that it is bound to: one default, and no copying.
#include "config/member.h"

#include "config/test_load.h"

namespace semel::config {
namespace {

using std::chrono::milliseconds;

struct Sample {
  enum class Word { kFirst, kSecond };
  int count = 7;
  std::size_t bytes = 3 << 10;
  milliseconds wait{60'000};
  std::chrono::seconds pause{2};
  double part = 0.25;
  bool on = true;
  Word word = Word::kSecond;
  std::string text = "here";
  std::optional<int> open;
  std::optional<milliseconds> silent;
};

template <auto M>
Field row(Shape shape, std::string_view words = {}, std::string_view unit = {}) {
  return {.name = "row",
          .shape = shape,
          .meaning = "",
          .member = &kMember<M>,
          .unit = unit,
          .words = words,
          .high = 1'000'000'000};
}

TEST(Member, ItsDefaultIsWrittenAsAPersonWouldWriteIt) {
  EXPECT_EQ(default_of(row<&Sample::count>(Shape::kInteger)), "7");
  EXPECT_EQ(default_of(row<&Sample::bytes>(Shape::kSize)), "3KiB");
  EXPECT_EQ(default_of(row<&Sample::wait>(Shape::kDuration)), "1m");
  EXPECT_EQ(default_of(row<&Sample::wait>(Shape::kDuration, "", "s")), "60s");
  EXPECT_EQ(default_of(row<&Sample::pause>(Shape::kDuration)), "2s");
  EXPECT_EQ(default_of(row<&Sample::part>(Shape::kNumber)), "0.25");
  EXPECT_EQ(default_of(row<&Sample::on>(Shape::kBoolean)), "true");
  EXPECT_EQ(default_of(row<&Sample::word>(Shape::kWord, "first|second")), "second");
  EXPECT_EQ(default_of(row<&Sample::text>(Shape::kText)), "here");
  EXPECT_EQ(default_of(row<&Sample::open>(Shape::kInteger, "auto")), "auto");
  EXPECT_EQ(default_of(row<&Sample::silent>(Shape::kDuration)), "");
}

template <auto M>
Sample with(std::string_view text, Shape shape, std::string_view words = {}) {
  const Field field = row<M>(shape, words);
  Setting setting;
  setting.field = &field;
  setting.text = text;
  const auto flaw = read_value(setting);
  EXPECT_FALSE(flaw) << text;
  Sample made;
  field.member->put(setting, &made);
  return made;
}

TEST(Member, WhatIsWrittenIsPutThere) {
  EXPECT_EQ(with<&Sample::count>("9", Shape::kInteger).count, 9);
  EXPECT_EQ(with<&Sample::bytes>("2MiB", Shape::kSize).bytes, 2U << 20);
  EXPECT_EQ(with<&Sample::wait>("5s", Shape::kDuration).wait, milliseconds(5'000));
  EXPECT_EQ(with<&Sample::pause>("1m", Shape::kDuration).pause, std::chrono::seconds(60));
  EXPECT_EQ(with<&Sample::part>("0.5", Shape::kNumber).part, 0.5);
  EXPECT_FALSE(with<&Sample::on>("false", Shape::kBoolean).on);
  EXPECT_EQ(with<&Sample::word>("first", Shape::kWord, "first|second").word, Sample::Word::kFirst);
  EXPECT_EQ(with<&Sample::text>("there", Shape::kText).text, "there");
  EXPECT_EQ(with<&Sample::open>("3", Shape::kInteger, "auto").open, 3);
  EXPECT_EQ(with<&Sample::open>("auto", Shape::kInteger, "auto").open, std::nullopt);
  EXPECT_EQ(with<&Sample::silent>("1s", Shape::kDuration).silent, milliseconds(1'000));
}

// A default stands in the struct, unless the struct has none.
TEST(Member, NoBoundRowHasASecondDefault) {
  int bound = 0;
  each_field([&](const std::string& path, const Field& field) {
    if (field.member == nullptr) return;
    ++bound;
    if (!field.fallback.empty()) {
      EXPECT_EQ(field.member->fallback(field), "") << path;
    }
  });
  EXPECT_GT(bound, 20);
}

// So that a new option of a store is a member of its options and a row here, and nothing else.
TEST(Member, EveryOptionOfAStoreIsBound) {
  int bound = 0;
  each_field([&](const std::string& path, const Field& field) {
    const bool store = path.starts_with("store.") || path.starts_with("consumers[].front.");
    if (!store || !is_leaf(field) || path.starts_with("store.redis.accept")) return;
    EXPECT_NE(field.member, nullptr) << path;
    ++bound;
  });
  EXPECT_GT(bound, 15);
}

TEST(Member, AMapFillsOnlyTheStructThatItsRowsName) {
  const auto config = good(R"({store: {redis: {url: "redis://h", wait_replicas: 2}},
      consumers: [{name: a, source: {stdin: {}}, key: json:/id}]})");
  const auto& redis = std::get<RedisOptions>(config.store.kind);
  EXPECT_EQ(redis.url, "redis://h");
  EXPECT_EQ(redis.wait_replicas, 2);
  EXPECT_EQ(redis.prefix, RedisOptions().prefix);
  EXPECT_EQ(redis.connections, RedisOptions().connections);
  EXPECT_EQ(redis.environment, nullptr);
  EXPECT_EQ(config.store.on_unavailable, StoreConfig::OnUnavailable::kPause);
}

}  // namespace
}  // namespace semel::config
