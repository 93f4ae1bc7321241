// A row of the schema and the member that it is bound to: both have one default, without copies.
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
  milliseconds first{1'000}, last{300'000};
  enum class Kept { kAuto, kEver, kFor };
  Kept kept = Kept::kEver;
  milliseconds kept_for{0};
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

constexpr Field kRangeRow = {.name = "row",
                             .shape = Shape::kDurationRange,
                             .meaning = "",
                             .member = &kRange<&Sample::first, &Sample::last>};
constexpr Field kWordRow = {.name = "row",
                            .shape = Shape::kDuration,
                            .meaning = "",
                            .member = &kWordOr<&Sample::kept, &Sample::kept_for>,
                            .words = "auto|ever"};

TEST(Member, ItsDefaultMayBeOfTwoMembers) {
  EXPECT_EQ(default_of(kRangeRow), "1s..5m");
  EXPECT_EQ(default_of(kWordRow), "ever");
}

Sample with(std::string_view text, const Field& field) {
  Setting setting;
  setting.field = &field;
  setting.text = text;
  const auto flaw = read_value(setting);
  EXPECT_FALSE(flaw) << text;
  Sample made;
  field.member->put(setting, &made);
  return made;
}

template <auto M>
Sample with(std::string_view text, Shape shape, std::string_view words = {}) {
  return with(text, row<M>(shape, words));
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

TEST(Member, WhatIsWrittenMayGoToTwoMembers) {
  const Sample range = with("2s..1h", kRangeRow);
  EXPECT_EQ(range.first, milliseconds(2'000));
  EXPECT_EQ(range.last, milliseconds(3'600'000));
  EXPECT_EQ(with("auto", kWordRow).kept, Sample::Kept::kAuto);
  const Sample kept = with("3s", kWordRow);
  EXPECT_EQ(kept.kept, Sample::Kept::kFor);
  EXPECT_EQ(kept.kept_for, milliseconds(3'000));
}

const Field& row_at(std::string_view path) {
  const Field* found = nullptr;
  each_field([&](const std::string& at, const Field& field) {
    if (at == path) found = &field;
  });
  EXPECT_NE(found, nullptr) << path;
  return *found;
}

template <auto M>
void expect_words(std::string_view path,
                  std::vector<typename MemberTypes<decltype(M)>::Value> enumerators) {
  const Field& field = row_at(path);
  ASSERT_EQ(field.member, &kMember<M>) << path;
  const auto words = split_words(field.words);
  ASSERT_EQ(words.size(), enumerators.size()) << path;
  for (std::size_t i = 0; i < words.size(); ++i) {
    Setting setting;
    setting.field = &field;
    setting.text = words[i];
    typename MemberTypes<decltype(M)>::Owner made;
    field.member->put(setting, &made);
    EXPECT_EQ(made.*M, enumerators[i]) << path << " " << words[i];
  }
}

// Words are in the order of the reference.
TEST(Member, EachWordIsItsEnumerator) {
  using core::KeyRecipe;
  using core::SqlParam;
  using core::VersionSpec;
  expect_words<&KeyRecipe::missing>(
      "consumers[].key.missing",
      {KeyRecipe::Missing::kDeadLetter, KeyRecipe::Missing::kFail, KeyRecipe::Missing::kHashBody});
  expect_words<&KeyRecipe::fingerprint>(
      "consumers[].key.fingerprint",
      {KeyRecipe::FingerprintOf::kBody, KeyRecipe::FingerprintOf::kJson,
       KeyRecipe::FingerprintOf::kNone});
  expect_words<&ConsumerConfig::empty>(
      "consumers[].empty",
      {core::EmptyPayload::kHandle, core::EmptyPayload::kDeadLetter, core::EmptyPayload::kDiscard});
  expect_words<&core::Order::on_failure>(
      "consumers[].order.on_failure",
      {core::Order::OnFailure::kHoldKey, core::Order::OnFailure::kBlock,
       core::Order::OnFailure::kSkip});
  expect_words<&ConsumerConfig::defer>("consumers[].defer",
                                       {ConsumerConfig::Defer::kNever, ConsumerConfig::Defer::kHere,
                                        ConsumerConfig::Defer::kElsewhere});
  expect_words<&core::FileSpec::from>("consumers[].source.file.from",
                                      {core::FileSpec::From::kKept, core::FileSpec::From::kStart});
  expect_words<&core::KafkaSpec::from>(
      "consumers[].source.kafka.from",
      {core::KafkaSpec::From::kEarliest, core::KafkaSpec::From::kLatest,
       core::KafkaSpec::From::kFail});
  expect_words<&core::RabbitmqSpec::type>(
      "consumers[].source.rabbitmq.queue_type",
      {core::RabbitmqSpec::QueueType::kQuorum, core::RabbitmqSpec::QueueType::kClassic});
  expect_words<&core::RedisStreamsSpec::from>(
      "consumers[].source.redis_streams.from",
      {core::RedisStreamsSpec::From::kEarliest, core::RedisStreamsSpec::From::kLatest});
  expect_words<&core::HttpSpec::key_style>(
      "consumers[].handler.http.idempotency_key_style",
      {core::HttpSpec::KeyStyle::kQuoted, core::HttpSpec::KeyStyle::kBare});
  expect_words<&SqlParam::type>(
      "consumers[].handler.sql.params.NAME.type",
      {SqlParam::Type::kAsWritten, SqlParam::Type::kInteger, SqlParam::Type::kReal,
       SqlParam::Type::kDecimal, SqlParam::Type::kText, SqlParam::Type::kBoolean,
       SqlParam::Type::kJson});
  expect_words<&VersionSpec::missing>(
      "consumers[].version.missing",
      {VersionSpec::Missing::kRetry, VersionSpec::Missing::kHandle,
       VersionSpec::Missing::kDuplicate, VersionSpec::Missing::kDeadLetter});
  expect_words<&StoreConfig::on_unavailable>(
      "store.on_unavailable",
      {StoreConfig::OnUnavailable::kPause, StoreConfig::OnUnavailable::kFail});
}

// A default is written in the struct, unless the struct has none.
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

// So a new option of a store needs only a member of its options and a row here.
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
