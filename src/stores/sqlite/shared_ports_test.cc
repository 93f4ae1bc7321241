// The ports that all SQL stores share, on a file.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <functional>
#include <future>
#include <latch>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "stores/sql/dead_letters.h"
#include "stores/sql/positions.h"
#include "stores/sql/run_markers.h"
#include "stores/sqlite/file_database.h"
#include "stores/sqlite/store_context.h"
#include "stores/sqlite/test_place.h"

namespace semel::sqlite {
namespace {

struct Asked {
  int transactions = 0;
  int all_gone = 0;
  int one_gone = 0;
};

class CountedAccess final : public sql::TransactionAccess {
 public:
  CountedAccess(sql::TransactionAccess& access, Asked& asked) : access_(access), asked_(asked) {}
  sql::Statements& statements() noexcept override { return access_.statements(); }
  sql::SharedTables& tables() noexcept override { return access_.tables(); }
  sql::RecordLooks& looks() noexcept override { return access_.looks(); }
  sql::Records& records() noexcept override { return access_.records(); }
  StoreTime now() override { return access_.now(); }
  std::vector<std::int64_t> gone() override {
    ++asked_.all_gone;
    return access_.gone();
  }
  bool is_gone(std::int64_t instance) override {
    ++asked_.one_gone;
    return access_.is_gone(instance);
  }

 private:
  sql::TransactionAccess& access_;
  Asked& asked_;
};

// A file whose transactions are counted, with a test's action before each.
class WatchedDatabase final : public sql::Database {
 public:
  explicit WatchedDatabase(StoreContext& context) : file_(context) {}

  std::int64_t instance() override { return file_.instance(); }
  bool locks_all() const noexcept override { return together; }

  bool together = true;
  Asked asked;
  std::function<void()> before_transaction = [] {};

 protected:
  void run_glance(const Job& job) override { file_.glance(job); }
  void run_look(const Job& job) override { file_.look(job); }
  void run_change(sql::Sync sync, const Job& job) override { file_.change(sync, job); }
  void run_transaction(sql::Sync sync, const TransactionJob& job) override {
    ++asked.transactions;
    before_transaction();
    file_.transact(sync, [&](sql::TransactionAccess& access) {
      CountedAccess counted(access, asked);
      job(counted);
    });
  }

 private:
  FileDatabase file_;
};

class SharedPortsTest : public SqliteTest {
 protected:
  static SqliteOptions without_housekeeper(SqliteOptions options) {
    options.checkpoints = false;
    return options;
  }
  // Instances that registered, ran a consumer and died.
  void add_dead(int count) {
    for (int i = 0; i < count; ++i) {
      sql("INSERT INTO semel_instance (pid, started_at) VALUES (1, 0); "
          "INSERT INTO semel_run SELECT max(number), 1, 5, 0, 0 FROM semel_instance");
    }
  }
  void fail_transaction(int number) {
    database_.before_transaction = [this, number] {
      if (database_.asked.transactions != number) return;
      fail({ErrorKind::kUnavailable, "R205", "the disk is full", {}});
    };
  }
  // How many texts that begin so the writer has prepared.
  int prepared(std::string_view beginning) {
    int count = 0;
    sqlite3* const handle = context_.writer.connection().handle();
    for (sqlite3_stmt* one = nullptr; (one = sqlite3_next_stmt(handle, one)) != nullptr;) {
      if (std::string_view(sqlite3_sql(one)).starts_with(beginning)) ++count;
    }
    return count;
  }

  // The statements that `work` runs on the connection for reading.
  std::set<std::string> read_by(const std::function<void(sql::Access&)>& work) {
    std::set<std::string> texts;
    const auto note = [](unsigned, void* into, void* statement, void*) {
      static_cast<std::set<std::string>*>(into)->insert(
          sqlite3_sql(static_cast<sqlite3_stmt*>(statement)));
      return 0;
    };
    sqlite3* handle = nullptr;
    context_.reader.glance([&](Tables&, Connection& connection) { handle = connection.handle(); });
    sqlite3_trace_v2(handle, SQLITE_TRACE_STMT, note, &texts);
    database_.look(work);
    sqlite3_trace_v2(handle, 0, nullptr, nullptr);
    return texts;
  }

  StoreContext context_{without_housekeeper(options()), system_environment(), *clock_};
  WatchedDatabase database_{context_};
  const std::unique_ptr<RunMarkers> runs_ = sql::make_run_markers(database_);
};

TEST_F(SharedPortsTest, TheStatisticsReadTwoRowsOfABacklogAndTheIndexOfTheOthers) {
  const auto texts = read_by([](sql::Access& access) {
    access.looks().held(ConsumerNumber{1});
    access.tables().dead_letters.count(ConsumerNumber{1});
    access.tables().dead_letters.times(ConsumerNumber{1});
  });
  int ways = 0;
  for (const std::string& text : texts) {
    const bool about_rows = text.find("FROM semel_held") != std::string::npos ||
                            text.find("FROM semel_dead_letter") != std::string::npos;
    if (!about_rows) continue;
    SCOPED_TRACE(text);
    for (const auto& row : sql("EXPLAIN QUERY PLAN " + text)) {
      const std::string& way = row.at(3);
      if (!way.starts_with("SEARCH") && !way.starts_with("SCAN")) continue;
      ++ways;
      EXPECT_TRUE(way.find("COVERING INDEX") != std::string::npos ||
                  way.find("INTEGER PRIMARY KEY (rowid=?)") != std::string::npos ||
                  way.starts_with("SCAN ends"))
          << way;
    }
  }
  EXPECT_GT(ways, 0);
}

TEST_F(SharedPortsTest, ASweepLooksAtEachInstanceTwiceAndFreesManyInOneTurn) {
  constexpr int kDead = 40;
  add_dead(kDead);
  EXPECT_TRUE(runs_->sweep().value());
  EXPECT_EQ(one("SELECT count(*) FROM semel_instance"), "0");
  EXPECT_EQ(database_.asked.all_gone, 0) << "no transaction reads them all";
  EXPECT_EQ(database_.asked.one_gone, kDead);
  EXPECT_LE(database_.asked.transactions, 3);
  EXPECT_FALSE(runs_->sweep().value());
}

TEST_F(SharedPortsTest, ASweepThatFailsHalfwayStillTellsOfWhatItFreed) {
  database_.together = false;
  add_dead(2);
  fail_transaction(2);
  const auto swept = runs_->sweep();
  ASSERT_TRUE(swept.has_value()) << swept.error().message;
  EXPECT_TRUE(*swept);
  EXPECT_EQ(one("SELECT count(*) FROM semel_instance"), "1");
  EXPECT_TRUE(runs_->sweep().value()) << "the other one";
  EXPECT_FALSE(runs_->sweep().value());
}

TEST_F(SharedPortsTest, ASweepThatFreedNothingTellsItsError) {
  add_dead(2);
  fail_transaction(1);
  const auto swept = runs_->sweep();
  ASSERT_FALSE(swept.has_value());
  EXPECT_EQ(swept.error().code, "R205");
  EXPECT_TRUE(runs_->sweep().value());
}

TEST_F(SharedPortsTest, ABeginThatMayHaveMissedADeathFails) {
  database_.together = false;
  add_dead(2);
  fail_transaction(2);
  const auto failed = runs_->begin(ConsumerNumber{1}, 3);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, "R205");
  const auto begun = runs_->begin(ConsumerNumber{1}, 3).value();
  EXPECT_TRUE(begun.unclean);
  EXPECT_EQ(begun.window, 5U);
}

TEST_F(SharedPortsTest, AConsumerThatWaitsForTheFileHoldsUpNoOther) {
  (void)database_.instance();
  std::latch waits(1);
  std::latch go_on(1);
  const auto first = std::this_thread::get_id();
  database_.before_transaction = [&] {
    if (std::this_thread::get_id() == first) return;
    waits.count_down();
    go_on.wait();
  };
  auto slow = std::async(std::launch::async, [&] { return runs_->begin(ConsumerNumber{1}, 1); });
  waits.wait();
  std::promise<void> done;
  std::thread watchdog([&, over = done.get_future()] {
    EXPECT_EQ(over.wait_for(20s), std::future_status::ready) << "one consumer waits for another";
    go_on.count_down();
  });
  EXPECT_TRUE(runs_->begin(ConsumerNumber{2}, 1).has_value());
  EXPECT_TRUE(runs_->sweep().has_value());
  EXPECT_TRUE(runs_->end(ConsumerNumber{2}).has_value());
  done.set_value();
  watchdog.join();
  EXPECT_TRUE(slow.get().has_value());
  EXPECT_EQ(one("SELECT group_concat(consumer) FROM semel_run"), "1");
}

TEST_F(SharedPortsTest, AnInstanceIsNeverGoneForItself) {
  std::vector<std::int64_t> gone;
  int commits = 0;
  // Others can read its row, before it knows its own number.
  context_.writer.on_commit([&](int) {
    ++commits;
    gone = database_.glance([](sql::Access& access) { return access.gone(); });
  });
  const std::int64_t number = database_.instance();
  EXPECT_EQ(commits, 1);
  EXPECT_TRUE(gone.empty());
  EXPECT_FALSE(context_.instances.is_gone(number));
  EXPECT_TRUE(context_.instances.is_gone(number + 1)) << "nobody has that one";
}

// Its lock is lost as soon as it is taken.
class LostReservations final : public sql::Reservations {
 public:
  std::unique_ptr<Positions::Reservation> try_take(std::uint64_t name) override {
    lost_ = name;
    return std::make_unique<Positions::Reservation>();
  }
  bool lost(std::uint64_t name) override { return lost_ == name; }

 private:
  std::optional<std::uint64_t> lost_;
};

TEST_F(SharedPortsTest, WhoseReservationIsLostSavesNoPosition) {
  LostReservations lost;
  const auto positions = sql::make_positions(database_, lost);
  EXPECT_TRUE(positions->save(ConsumerNumber{1}, "file", "1").has_value());
  ASSERT_TRUE(positions->reserve(ConsumerNumber{1}, "file").has_value());
  const auto refused = positions->save(ConsumerNumber{1}, "file", "2");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "R230");
  EXPECT_EQ(positions->load(ConsumerNumber{1}, "file").value(), Bytes("1"));
  EXPECT_TRUE(positions->save(ConsumerNumber{1}, "other", "2").has_value());
}

TEST_F(SharedPortsTest, AFileLocksNoRecordOfALetter) {
  const auto letters = sql::make_dead_letters(database_);
  sql("INSERT INTO semel_consumer (name, recipe_hash) VALUES ('payments', 'recipe')");
  ForeignLetter foreign;
  foreign.letter.consumer = "payments";
  foreign.letter.key = "k";
  EXPECT_EQ(letters->add({&foreign, 1}).value().added, 1U);
  LetterEdit edit;
  edit.id = 1;
  edit.before = foreign.letter.fingerprint;
  edit.fingerprint.bytes.fill(1);
  EXPECT_EQ(letters->edit(edit).value(), Edited::kYes);
  const std::int64_t id = 1;
  EXPECT_EQ(letters->replay({&id, 1}).value().replayed, 1U);
  EXPECT_EQ(prepared("SELECT record FROM semel_dead_letter"), 0);
  EXPECT_EQ(prepared("SELECT version FROM semel_schema"), 0);
}

TEST_F(SharedPortsTest, ADeadLetterOfARecordWithoutStepsLeavesTheJournalAlone) {
  const Message m = test::make_message(ConsumerNumber{1}, "k");
  const Message* const one_message = &m;
  WriteTransaction transaction(context_.writer, sql::Sync::kPowerLoss, 5s);
  const StoreTime now = transaction.now();
  const auto claims = context_.writer.lease_claims().claim({&one_message, 1}, {}, 1, now);
  const Lease lease = std::get<Acquired>(claims.at(0)).lease;
  EXPECT_EQ(context_.writer.finish_writer().apply(test::dead(lease, &m), now), Applied::kYes);
  transaction.commit();
  EXPECT_EQ(one("SELECT count(*) FROM semel_dead_letter"), "1");
  EXPECT_EQ(prepared("DELETE FROM semel_step"), 0);
}

}  // namespace
}  // namespace semel::sqlite
