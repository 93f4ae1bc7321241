// Operators and processes that do the same thing concurrently: on a server no lock excludes all
// others, and yet each thing is done once.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include "stores/postgres/test_place.h"

namespace semel::postgres {
namespace {

constexpr int kAtOnce = 6;

class PostgresOperatorTest : public PostgresTest {
 protected:
  DeadLetters& letters() { return *store_->facets().dead_letters; }
  RecordInspector& records() { return *store_->facets().records; }
  RunMarkers& runs() { return *store_->facets().runs; }
  Gates& gates() { return *store_->facets().gates; }

  std::vector<Message> write_dead_letter(int count) {
    auto messages = test::make_messages(consumer_, "k-", static_cast<std::size_t>(count));
    for (const Message& m : messages) finish(*store_, test::dead(acquire(*store_, m), &m));
    return messages;
  }
  std::vector<std::int64_t> ids() {
    std::vector<std::int64_t> ids;
    const auto all = letters().list({}).value();
    for (const DeadLetter& letter : all) ids.push_back(letter.id);
    return ids;
  }
  void TearDown() override {
    const auto findings = records().verify(true).value();
    for (const StoreFinding& finding : findings) {
      EXPECT_FALSE(finding.wrong) << finding.what << " " << finding.where;
    }
  }

  std::unique_ptr<Store> store_ = open();
  ConsumerNumber consumer_ = attach(*store_);
};

TEST_F(PostgresOperatorTest, ARecordIsUnlockedOnce) {
  for (const Message& m : write_dead_letter(10)) {
    std::atomic<int> unlocked = 0;
    together(kAtOnce, [&](int) { unlocked += records().unlock(m.key().id).value() ? 1 : 0; });
    EXPECT_EQ(unlocked, 1);
  }
  EXPECT_EQ(sql("SELECT count(*) FROM semel.semel_held"), "10");
}

TEST_F(PostgresOperatorTest, ARecordIsForgottenOrUnlocked) {
  for (const Message& m : write_dead_letter(10)) {
    const RecordView seen = records().show(m.key().id).value().value();
    std::atomic<int> forgotten = 0;
    together(kAtOnce, [&](int i) {
      if (i % 2 == 0) {
        EXPECT_TRUE(records().unlock(seen.id).has_value());
      } else {
        forgotten += records().forget_as(seen.id, seen.state, seen.token).value() ? 1 : 0;
      }
    });
    EXPECT_LE(forgotten, 1);
    const auto left = records().show(seen.id).value();
    EXPECT_EQ(left.has_value(), forgotten == 0);
    if (left) {
      EXPECT_EQ(left->state, RecordState::kRetrying) << "what moved on stays";
    }
  }
}

TEST_F(PostgresOperatorTest, ReplaysInAnyOrderDoNotWaitForEachOther) {
  write_dead_letter(30);
  std::vector<std::int64_t> forth = ids();
  std::vector<std::int64_t> back(forth.rbegin(), forth.rend());
  together(kAtOnce, [&](int i) {
    const auto report = letters().replay(i % 2 == 0 ? forth : back);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_EQ(report->replayed, 30U);
  });
  EXPECT_EQ(sql("SELECT count(*), min(replayed), max(replayed) FROM semel.semel_dead_letter"),
            "30|" + std::to_string(kAtOnce) + "|" + std::to_string(kAtOnce));
}

TEST_F(PostgresOperatorTest, ALetterIsEditedOnce) {
  write_dead_letter(1);
  const DeadLetter letter = letters().show(ids().at(0)).value().value();
  std::atomic<int> edited = 0, moved = 0;
  together(kAtOnce, [&](int i) {
    const Message to = test::make_message(consumer_, "k-0", "edit " + std::to_string(i));
    LetterEdit edit;
    edit.id = letter.id;
    edit.before = letter.fingerprint;
    edit.payload_before = letter.payload;
    edit.headers_before = letter.headers;
    edit.payload = to.payload();
    edit.fingerprint = to.fingerprint();
    const auto answer = letters().edit(edit);
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    ++(*answer == Edited::kYes ? edited : moved);
    EXPECT_TRUE(*answer == Edited::kYes || *answer == Edited::kMoved);
  });
  EXPECT_EQ(edited, 1);
  EXPECT_EQ(moved, kAtOnce - 1);
}

TEST_F(PostgresOperatorTest, LettersFromElsewhereAreAddedOnce) {
  std::vector<ForeignLetter> given(20);
  for (std::size_t i = 0; i < given.size(); ++i) {
    DeadLetter& letter = given[i].letter;
    letter.consumer = "payments";
    letter.payload = "payload " + std::to_string(i);
    letter.fingerprint.bytes[0] = static_cast<unsigned char>(i);
    letter.first_seen = letter.dead_at = StoreTime(1s);
    if (i % 3 == 0) letter.key = "k-" + std::to_string(i);
    if (i % 3 == 1) letter.position = std::to_string(i);
  }
  std::atomic<std::size_t> added = 0;
  together(kAtOnce, [&](int i) {
    auto mine = given;
    if (i % 2 == 0) std::ranges::reverse(mine);
    const auto report = letters().add(mine);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    added += report->added;
  });
  EXPECT_EQ(added, given.size());
}

TEST_F(PostgresOperatorTest, APauseOutlastsABreakOfTheSameMoment) {
  for (int round = 0; round < 10; ++round) {
    together(kAtOnce, [&](int i) {
      const auto time = i == 0 ? std::nullopt : std::optional<milliseconds>(1h);
      EXPECT_TRUE(gates().shut(consumer_, i == 0 ? "by hand" : "503", time).has_value());
    });
    const auto gate = gates().state(consumer_).value();
    ASSERT_TRUE(gate.has_value());
    EXPECT_FALSE(gate->until.has_value());
    EXPECT_EQ(gate->why, "by hand");
    EXPECT_TRUE(gates().resume(consumer_).value());
  }
}

TEST_F(PostgresOperatorTest, AConsumerGetsOneNumber) {
  std::mutex mutex;
  std::set<ConsumerNumber> numbers;
  together(kAtOnce, [&](int) {
    const ConsumerNumber number = attach(*store_, "refunds");
    const std::scoped_lock lock(mutex);
    numbers.insert(number);
  });
  EXPECT_EQ(numbers.size(), 1U);
}

TEST_F(PostgresOperatorTest, WhatAProcessLeftIsFreedOnce) {
  const auto messages = test::make_messages(consumer_, "k-", 20);
  for (const Message& m : messages) acquire(*store_, m);
  ASSERT_TRUE(runs().begin(consumer_, 9).has_value());
  sql("UPDATE semel.semel_instance SET number = number + 1000");
  sql("UPDATE semel.semel_record SET holder = holder + 1000");
  sql("UPDATE semel.semel_run SET instance = instance + 1000");
  std::atomic<int> freed = 0;
  together(kAtOnce, [&](int) {
    const auto store = open();
    const auto swept = store->facets().runs->sweep();
    ASSERT_TRUE(swept.has_value()) << swept.error().message;
    freed += *swept ? 1 : 0;
  });
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(sql("SELECT count(*) FROM semel.semel_record WHERE lease_until > clock_timestamp()"),
            "0");
  std::atomic<int> unclean = 0;
  together(kAtOnce, [&](int) {
    const auto store = open();
    const auto begun = store->facets().runs->begin(consumer_, 1);
    ASSERT_TRUE(begun.has_value()) << begun.error().message;
    unclean += begun->unclean ? 1 : 0;
    EXPECT_EQ(begun->window, begun->unclean ? 9U : 0U);
    EXPECT_TRUE(store->facets().runs->end(consumer_).has_value());
  });
  EXPECT_EQ(unclean, 1) << "told once";
}

TEST_F(PostgresOperatorTest, CrashesAreCountedUponWhatWasLookedAt) {
  const auto messages = test::make_messages(consumer_, "m-", 40);
  std::vector<KeyId> keys;
  for (const Message& message : messages) keys.push_back(message.key().id);
  together(kAtOnce, [&](int thread) {
    std::vector<KeyId> mine = keys;
    if (thread % 2 == 1) std::ranges::reverse(mine);
    for (int i = 0; i < 5; ++i) {
      const auto kept = runs().crashes(mine).value();
      std::vector<CrashChange> changes;
      for (std::size_t k = 0; k < mine.size(); ++k) {
        changes.push_back({mine[k], *kept[k], *kept[k], *kept[k] + 1});
      }
      ASSERT_TRUE(runs().change_crashes(changes).has_value());
    }
  });
  // Where one counted nothing, another had counted meanwhile.
  const auto counted = runs().crashes(keys).value();
  for (const std::optional<int>& kept : counted) {
    EXPECT_GE(*kept, 5);
    EXPECT_LE(*kept, 5 * kAtOnce);
  }
}

TEST_F(PostgresOperatorTest, AProcessThatLostItsConnectionRunsOnUnderAnotherNumber) {
  ASSERT_TRUE(runs().begin(consumer_, 9).has_value());
  const std::string before = sql("SELECT instance FROM semel.semel_run");
  // As if a process had swept while it had no instance.
  sql("UPDATE semel.semel_run SET died = true; DELETE FROM semel.semel_instance; "
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
      "WHERE datname = current_database() AND pid <> pg_backend_pid()");
  // Statements on a connection that is gone fail, and the process must notice.
  for (int i = 0; i < 1000 && sql("SELECT died, in_flight FROM semel.semel_run") != "f|9"; ++i) {
    static_cast<void>(runs().sweep());
  }
  EXPECT_EQ(sql("SELECT died, in_flight FROM semel.semel_run"), "f|9");
  EXPECT_NE(sql("SELECT instance FROM semel.semel_run"), before);
  const auto other = open();
  EXPECT_FALSE(other->facets().runs->sweep().value()) << "it lives";
  ASSERT_TRUE(runs().end(consumer_).has_value());
  EXPECT_EQ(sql("SELECT count(*) FROM semel.semel_run"), "0");
}

}  // namespace
}  // namespace semel::postgres
