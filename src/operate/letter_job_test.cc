#include "operate/letter_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <semel/memory.h>

#include "system/utc_clock.h"
#include "tests/support/builders.h"
#include "tests/support/waiting.h"

namespace semel::operate {
namespace {

constexpr const char* kOneConsumer =
    "version: 1\n"
    "store: { memory: {} }\n"
    "consumers:\n"
    "  - { name: payments, source: { stdin: {} }, key: json:/id, handler: { native: pay } }\n";

Error connection_cut() { return {ErrorKind::kInDoubt, "R252", "the connection was cut", {}}; }
Error store_away() { return {ErrorKind::kUnavailable, "R250", "no route to host", {}}; }

// Decides for each replay and discard how it ends: normally, or with an error before or after it.
class FaultyLetters final : public DeadLetters {
 public:
  explicit FaultyLetters(DeadLetters& letters) : letters_(letters) {}
  Result<std::vector<DeadLetter>> list(const DeadLetterFilter& filter) override {
    return letters_.list(filter);
  }
  Result<std::optional<DeadLetter>> show(std::int64_t id) override { return letters_.show(id); }
  Result<ReplayReport> replay(std::span<const std::int64_t> ids) override {
    if (before) {
      if (auto error = before(ids)) return failure(*error);
    }
    for (const std::int64_t id : ids) ++times[id];
    auto report = letters_.replay(ids);
    if (after) return failure(*std::exchange(after, std::nullopt));
    return report;
  }
  Result<std::size_t> discard(std::span<const std::int64_t> ids) override {
    auto discarded = letters_.discard(ids);
    if (after) return failure(*std::exchange(after, std::nullopt));
    return discarded;
  }
  Result<Edited> edit(const LetterEdit& edit) override { return letters_.edit(edit); }
  Result<bool> replaces(const KeyId& record, BytesView key, const Fingerprint& now,
                        const Fingerprint& original) override {
    return letters_.replaces(record, key, now, original);
  }
  Result<AddReport> add(std::span<const ForeignLetter> letters) override {
    return letters_.add(letters);
  }
  Result<ExpiryReport> expire(std::span<const LetterLife> lives, std::int64_t from,
                              std::size_t most) override {
    return letters_.expire(lives, from, most);
  }

  std::function<std::optional<Error>(std::span<const std::int64_t>)> before;
  std::optional<Error> after;
  std::map<std::int64_t, int> times;  // that a letter was replayed

 private:
  DeadLetters& letters_;
};

class LetterJobTest : public ::testing::Test {
 protected:
  LetterJobTest()
      : config_(config::load_text(kOneConsumer, "semel.yaml").config.value()),
        store_(make_memory_store()),
        letters_(*store_->facets().dead_letters) {
    number_ = store_->attach({"payments", "recipe", false, {}}).value();
  }
  void add(int count, StoreTime died = {}) {
    std::vector<ForeignLetter> letters;
    for (int i = 0; i < count; ++i) {
      DeadLetter letter;
      letter.consumer = "payments";
      letter.reason = "handler.native";
      letter.position = std::to_string(added_++);
      letter.dead_at = died;
      letters.push_back({std::move(letter), std::nullopt});
    }
    ASSERT_TRUE(letters_.add(letters));
  }
  // Each with its record.
  void add_with_keys(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string key = "key-" + std::to_string(added_++);
      Message::Parts parts = test::make_parts(number_, key);
      parts.key.id = config_.consumers[0].key.id_of(number_, key);
      const Message message(std::move(parts));
      const Message* const pointer = &message;
      const auto claims = store_->claim({&pointer, 1}, {}).value();
      Finish finish;
      finish.to = Finish::To::kDead;
      finish.lease = std::get<Acquired>(claims[0]).lease;
      finish.reason = "handler.native";
      finish.keep = &message;
      ASSERT_EQ(store_->finish({&finish, 1}).value()[0], Applied::kYes);
    }
  }
  std::size_t stored() {
    DeadLetterFilter all;
    all.limit = 100'000;
    return letters_.list(all).value().size();
  }
  StoreAccess access() {
    StoreAccess made{config_, *store_, store_->facets()};
    made.facets.dead_letters = &letters_;
    return made;
  }
  static LetterWork work(LetterAct act) {
    LetterWork made;
    made.act = act;
    made.query.limit = std::numeric_limits<std::size_t>::max();
    return made;
  }
  // Runs the job to its end, however late a part is due.
  void run(LetterJob& job) {
    const auto here = access();
    for (int i = 0; i < 10'000; ++i) {
      const auto more = job.step(here);
      ASSERT_TRUE(more) << more.error().message;
      if (!*more) return;
    }
    FAIL() << "it has no end";
  }

  const config::Config config_;
  const std::unique_ptr<Store> store_;
  FaultyLetters letters_;
  ConsumerNumber number_{};
  int added_ = 0;
};

TEST_F(LetterJobTest, ReplaysEachLetterOnce) {
  add(1'234);
  LetterJob job(work(LetterAct::kReplay));
  run(job);
  EXPECT_EQ(job.progress().total, 1'234U);
  EXPECT_EQ(job.progress().done, 1'234U);
  EXPECT_EQ(letters_.times.size(), 1'234U);
  EXPECT_TRUE(std::ranges::all_of(letters_.times, [](const auto& one) { return one.second == 1; }));
  EXPECT_EQ(progress_text(LetterAct::kReplay, job.progress()), "1234 replayed");
}

TEST_F(LetterJobTest, TellsWhatEachReplayCameTo) {
  using Result = ReplayReport::Result;
  add_with_keys(3);
  std::map<Result, int> told;
  LetterWork counted = work(LetterAct::kReplay);
  counted.replayed = [&](const std::string& consumer, Result result) {
    EXPECT_EQ(consumer, "payments");
    ++told[result];
  };
  LetterJob job(counted);
  ASSERT_TRUE(job.step(access()).value()) << "counted";
  // The answer of the first replay is lost: the next walk finds that they are on their way.
  letters_.after = connection_cut();
  EXPECT_FALSE(job.step(access()));
  EXPECT_TRUE(told.empty());
  run(job);
  EXPECT_EQ(job.progress().done, 3U);
  EXPECT_EQ(told, (std::map<Result, int>{{Result::kReplayed, 3}}));
}

TEST_F(LetterJobTest, LettersThatComeMeanwhileAreLeft) {
  add(3);
  LetterJob job(work(LetterAct::kDiscard));
  ASSERT_TRUE(job.step(access()).value()) << "counted";
  EXPECT_EQ(job.progress().total, 3U);
  add(2);
  run(job);
  EXPECT_EQ(job.progress().done, 3U);
  EXPECT_EQ(stored(), 2U);
}

TEST_F(LetterJobTest, AgesAreThoseOfItsBeginning) {
  const auto now = std::chrono::time_point_cast<StoreTime::duration>(system::utc_now());
  add(2, now - std::chrono::hours(2));
  add(3, now);
  LetterWork young = work(LetterAct::kDiscard);
  young.query.where = Where::parse("age<1h", letter_fields()).value();
  // As a job that began an hour ago sees it.
  LetterWork earlier = young;
  earlier.query.now = now - std::chrono::minutes(90);
  LetterJob then(earlier);
  ASSERT_TRUE(then.step(access()).value());
  EXPECT_EQ(then.progress().total, 5U);
  LetterJob job(young);
  ASSERT_TRUE(job.step(access()).value());
  EXPECT_EQ(job.progress().total, 3U);
  run(then);
  EXPECT_EQ(then.progress().done, 5U) << "they are as old as they were when it was counted";
  EXPECT_EQ(stored(), 0U);
}

TEST_F(LetterJobTest, LettersDoNotGrowTooOldForTheFilterMeanwhile) {
  const auto now = std::chrono::time_point_cast<StoreTime::duration>(system::utc_now());
  constexpr auto kAge = std::chrono::milliseconds(300);
  add(3, now);
  LetterWork young = work(LetterAct::kDiscard);
  young.query.where = Where::parse("age<300ms", letter_fields()).value();
  young.query.now = now;
  LetterJob job(young);
  ASSERT_TRUE(job.step(access()).value());
  ASSERT_TRUE(test::comes_true([&] { return system::utc_now() > now + kAge; }));
  run(job);
  EXPECT_EQ(job.progress().done, 3U);
  EXPECT_EQ(job.progress().gone, 0U);
}

TEST_F(LetterJobTest, WhatIsGoneMeanwhileIsCounted) {
  add(4);
  LetterJob job(work(LetterAct::kReplay));
  ASSERT_TRUE(job.step(access()).value());
  const std::int64_t first = letters_.list({}).value().at(0).id;
  ASSERT_EQ(letters_.discard({&first, 1}).value(), 1U);
  run(job);
  EXPECT_EQ(job.progress().done, 3U);
  EXPECT_EQ(job.progress().gone, 1U);
  EXPECT_EQ(job.progress().total, 4U);
}

TEST_F(LetterJobTest, ALimitIsOfLettersInAll) {
  add(30);
  LetterWork some = work(LetterAct::kDiscard);
  some.query.limit = 7;
  some.rate = Rate{20, std::chrono::seconds(1)};
  LetterJob job(some);
  run(job);
  EXPECT_EQ(job.progress().done, 7U);
  EXPECT_EQ(job.progress().total, 7U);
  EXPECT_EQ(stored(), 23U);
}

TEST_F(LetterJobTest, AnOutageCostsNothing) {
  add(5);
  LetterJob job(work(LetterAct::kReplay));
  ASSERT_TRUE(job.step(access()).value());
  letters_.before = [](auto) { return std::optional(store_away()); };
  const auto away = job.step(access());
  ASSERT_FALSE(away);
  EXPECT_TRUE(LetterJob::passes(away.error()));
  EXPECT_EQ(job.progress().taken(), 0U);
  letters_.before = nullptr;
  run(job);
  EXPECT_EQ(job.progress().done, 5U);
}

TEST_F(LetterJobTest, ALostAnswerIsLookedAfter) {
  add(5);
  LetterJob job(work(LetterAct::kDiscard));
  ASSERT_TRUE(job.step(access()).value());
  letters_.after = Error{ErrorKind::kInDoubt, "R252", "the connection was cut", {}};
  EXPECT_FALSE(job.step(access()));
  EXPECT_EQ(job.progress().done, 0U);
  run(job);
  EXPECT_EQ(job.progress().done, 5U) << "they were discarded before the cut";
  EXPECT_EQ(job.progress().gone, 0U);
}

// Half of them have no record that says that they are on their way.
TEST_F(LetterJobTest, AReplayWhoseAnswerWasLostIsNotRepeated) {
  add(3);
  add_with_keys(3);
  add(2);
  LetterJob job(work(LetterAct::kReplay));
  ASSERT_TRUE(job.step(access()).value());
  ASSERT_EQ(job.progress().total, 8U);
  letters_.after = connection_cut();
  EXPECT_FALSE(job.step(access()));
  EXPECT_EQ(job.progress().done, 0U);
  run(job);
  EXPECT_EQ(job.progress().done, 8U);
  EXPECT_EQ(job.progress().gone, 0U);
  EXPECT_EQ(letters_.times.size(), 8U);
  EXPECT_TRUE(std::ranges::all_of(letters_.times, [](const auto& one) { return one.second == 1; }));
}

// The part that is cut holds letters that come after the place at which the walk stops.
TEST_F(LetterJobTest, DoubtsBehindTheEndOfAWalkAreKept) {
  add(600);
  LetterJob job(work(LetterAct::kReplay));
  ASSERT_TRUE(job.step(access()).value());
  letters_.after = connection_cut();
  EXPECT_FALSE(job.step(access())) << "the first part";
  ASSERT_TRUE(job.step(access()).value()) << "all of it was done";
  EXPECT_EQ(job.progress().done, letters_.times.size());
  letters_.before = [](auto) { return std::optional(connection_cut()); };
  EXPECT_FALSE(job.step(access())) << "the second part";
  letters_.before = nullptr;
  run(job);
  EXPECT_EQ(job.progress().done, 600U);
  EXPECT_EQ(letters_.times.size(), 600U);
  EXPECT_TRUE(std::ranges::all_of(letters_.times, [](const auto& one) { return one.second == 1; }));
}

TEST_F(LetterJobTest, ALetterThatTheStoreRefusesCostsItsNeighboursNothing) {
  add(5);
  const std::int64_t bad = letters_.list({}).value().at(2).id;
  letters_.before = [bad](std::span<const std::int64_t> ids) -> std::optional<Error> {
    if (std::ranges::find(ids, bad) == ids.end()) return std::nullopt;
    return Error{ErrorKind::kLimit, "R270", "it is too large", {}};
  };
  LetterJob job(work(LetterAct::kReplay));
  run(job);
  EXPECT_EQ(job.progress().done, 4U);
  EXPECT_EQ(job.progress().failed, 1U);
  EXPECT_EQ(job.progress().last_error, "it is too large");
  EXPECT_EQ(progress_text(LetterAct::kReplay, job.progress()), "4 replayed, 1 failed");
}

TEST_F(LetterJobTest, ADoubtAmongRefusalsCountsNoneTwice) {
  add(5);
  const auto all = letters_.list({}).value();
  const std::int64_t bad = all.at(1).id, doubtful = all.at(3).id;
  bool cut = false;
  letters_.before = [&](std::span<const std::int64_t> ids) -> std::optional<Error> {
    if (ids.size() == 1 && ids[0] == doubtful && !std::exchange(cut, true)) {
      return Error{ErrorKind::kInDoubt, "R252", "the connection was cut", {}};
    }
    if (std::ranges::find(ids, bad) == ids.end()) return std::nullopt;
    return Error{ErrorKind::kLimit, "R270", "it is too large", {}};
  };
  LetterJob job(work(LetterAct::kReplay));
  ASSERT_TRUE(job.step(access()).value());
  const auto stopped = job.step(access());
  ASSERT_FALSE(stopped);
  EXPECT_TRUE(cut);
  run(job);
  EXPECT_EQ(job.progress().done, 4U);
  EXPECT_EQ(job.progress().failed, 1U);
  EXPECT_EQ(job.progress().total, 5U);
}

TEST_F(LetterJobTest, AStoreThatRefusesEverythingIsAskedNoMore) {
  add(300);
  letters_.before = [](auto) { return Error{ErrorKind::kRejected, "", "read only", {}}; };
  LetterJob job(work(LetterAct::kReplay));
  ASSERT_TRUE(job.step(access()).value());
  const auto refused = job.step(access());
  ASSERT_FALSE(refused);
  EXPECT_FALSE(LetterJob::passes(refused.error()));
  EXPECT_LT(job.progress().failed, 300U);
}

TEST_F(LetterJobTest, NothingToDoIsAnEnd) {
  LetterJob job(work(LetterAct::kReplay));
  EXPECT_FALSE(job.step(access()).value());
  EXPECT_EQ(job.progress().total, 0U);
}

TEST_F(LetterJobTest, AQueryIsSaidInWords) {
  LetterQuery query;
  EXPECT_EQ(query_text(query, ""), "all");
  query.consumer = "payments";
  query.reason = "handler.native";
  query.replayed = true;
  EXPECT_EQ(query_text(query, "age>1h"),
            "consumer=payments and reason=handler.native and age>1h and replayed");
}

}  // namespace
}  // namespace semel::operate
