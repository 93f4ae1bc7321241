// The fault table's columns of work outside of the store, cell by cell: `fence`, before a service
// that honours keys and before one that does not, and `at_most_once`. Calls and effects are counted
// at the service.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "tests/cli/fault_table.h"
#include "tests/cli/write_lock.h"

namespace semel::test {
namespace {

// From a source that cannot be read again.
class FaultTableStdin : public FaultTable {
 protected:
  FaultTableStdin() : FaultTable("stdin: {}") {}
};

TEST_P(FaultTableStdin, TheSameMessageToTwoConsumersAtOnce) {
  gateway_.next({Answer::kHeld});
  const StartOptions options{.environment = kNoProxy, .held_input = true};
  Program one(running({"--once"}), options);
  one.say(message("p-1"));
  wait_for_call(one);
  Program other(running({"--once"}), options);
  other.say(message("p-1"));
  // Under fence the store has its copy then, and either may take it.
  const char* const met = GetParam() == Column::kAtMostOnce ? "busy" : "held";
  ASSERT_TRUE(other.says(met)) << other.out();
  gateway_.release();
  one.end_input();
  other.end_input();
  EXPECT_EQ(one.wait().code, 0) << one.err();
  EXPECT_EQ(other.wait().code, 0) << other.err();
  expect("p-1", {1, 1, "completed"});
}

class FaultTablePaused : public FaultTable {
 protected:
  FaultTablePaused() : FaultTable("queue: {}", "2s") {}
};

TEST_P(FaultTablePaused, PausedLongerThanItsLeaseThenResumed) {
  send(message("p-1"));
  gateway_.next({Answer::kHeld});
  Program sleeper(running(), {.environment = kNoProxy});
  wait_for_call(sleeper);
  sleeper.signal(SIGSTOP);
  Program other(running(), {.environment = kNoProxy});
  const char* const end = GetParam() == Column::kAtMostOnce ? "parked" : "completed";
  EXPECT_TRUE(comes_true([&] { return of_record("p-1", "state") == end; })) << other.err();
  gateway_.release();
  sleeper.signal(SIGCONT);
  EXPECT_TRUE(tells(sleeper, "lost")) << sleeper.out() << sleeper.err();
  for (Program* program : {&sleeper, &other}) {
    program->signal(SIGTERM);
    EXPECT_EQ(program->wait().code, 0) << program->err();
  }
  expect("p-1", {2, 1, "completed"}, {2, 2, "completed"}, {1, 1, "parked"});
}

// If two could finish what a crash left, one calls.
TEST_P(FaultTable, TwoWhoRecoverTheSameRecord) {
  send(message("p-1"));
  killed_in_mid_call();
  Program one(running({"--once"}), {.environment = kNoProxy});
  Program other(running({"--once"}), {.environment = kNoProxy});
  EXPECT_EQ(one.wait().code, 0) << one.err();
  EXPECT_EQ(other.wait().code, 0) << other.err();
  expect("p-1", {2, 1, "completed"}, {2, 2, "completed"}, {1, 1, "parked"});
}

// The store is set back: a failover that loses its last writes, or a backup that is restored.
TEST_P(FaultTable, TheStoreGoesBack) {
  send(message("p-1"));
  std::filesystem::copy_file(bed_.database(), bed_.file("backup"));
  ends_well();
  expect("p-1", {1, 1, "completed"});
  for (const char* part : {"-wal", "-shm"}) std::filesystem::remove(bed_.database() + part);
  std::filesystem::rename(bed_.file("backup"), bed_.database());
  ends_well();
  expect("p-1", {2, 1, "completed"}, {2, 2, "completed"}, {2, 2, "completed"});
}

// The other columns' cell: what a transaction wrote goes back with its record.
TEST(FaultTableTransactional, TheStoreGoesBackWithItsEffects) {
  const TestBed bed(payments(kQueue));
  ASSERT_EQ(bed.semel({"send", "payments", "-"}, {.input = payment("p-1", 1, 7)}).code, 0);
  std::filesystem::copy_file(bed.database(), bed.file("backup"));
  const auto handled = [&] {
    const Ran ran = bed.semel({"run", "--once", "-o", "json"});
    EXPECT_EQ(json_at(ran.out, "/effects"), "1") << ran.out << ran.err;
    return bed.number("SELECT balance FROM account WHERE id = 1");
  };
  EXPECT_EQ(handled(), 7);
  for (const char* part : {"-wal", "-shm"}) std::filesystem::remove(bed.database() + part);
  std::filesystem::rename(bed.file("backup"), bed.database());
  EXPECT_EQ(bed.number("SELECT balance FROM account WHERE id = 1"), 0);
  EXPECT_EQ(handled(), 7);
}

TEST_P(FaultTable, TheRecordIsForgotten) {
  for (int times = 0; times < 2; ++times) {
    send(message("p-1"));
    ends_well();
    if (times > 0) break;
    ASSERT_EQ(bed_.semel({"records", "forget", "p-1", "--yes"}).code, 0);
  }
  expect("p-1", {2, 1, "completed"}, {2, 2, "completed"}, {2, 2, "completed"});
}

// A service that honours keys for a while is one that does not, for a call that comes later.
TEST_P(FaultTable, TheReceiverForgetsBeforeTheRetry) {
  send(message("p-1"));
  killed_in_mid_call();
  ASSERT_EQ(gateway_.effects("p-1"), 1);
  gateway_.forget();
  ends_well();
  expect("p-1", {2, 2, "completed"}, {2, 2, "completed"}, {1, 1, "parked"});
}

TEST_P(FaultTable, TheKeyIsUsedAgainWithAnotherPayload) {
  send(message("p-1", 1));
  ends_well();
  send(message("p-1", 2));
  ends_well();
  expect("p-1", {1, 1, "completed"});
  const Ran letters = bed_.semel({"dlq", "list", "--reason", "key.conflict", "-o", "json"});
  EXPECT_EQ(json_at(letters.out, "/count"), "1") << letters.out;
}

TEST_P(FaultTable, TheProducerSendsAgainUnderANewKey) {
  send(message("p-1") + message("p-1-again"));
  ends_well();
  expect("p-1", {1, 1, "completed"});
  expect("p-1-again", {1, 1, "completed"});
}

// Nothing is called whose claim is not on disk, and nothing is lost.
TEST_P(FaultTable, TheDatabaseIsLocked) {
  send(message("p-1"));
  {
    const WriteLock lock(bed_.database());
    const Ran refused = run_once();
    EXPECT_EQ(refused.code, 69);
    EXPECT_NE(refused.err.find("R206"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(gateway_.calls(), 0);
  ends_well();
  expect("p-1", {1, 1, "completed"});
}

TEST_P(FaultTable, TheDatabaseMayNotBeWritten) {
  send(message("p-1"));
  ASSERT_EQ(::chmod(bed_.database().c_str(), 0444), 0);
  const Ran refused = bed_.semel({"run", "--once"}, {.environment = kNoProxy, .ordinary = true});
  EXPECT_NE(refused.code, 0);
  EXPECT_NE(refused.err.find("R203"), std::string::npos) << refused.err;
  EXPECT_EQ(gateway_.calls(), 0);
  ASSERT_EQ(::chmod(bed_.database().c_str(), 0644), 0);
  ends_well();
  expect("p-1", {1, 1, "completed"});
}

TEST_P(FaultTable, APersonReplaysADeadLetter) {
  send(message("p-1"));
  gateway_.next({Answer::kDeclined});
  ends_well();
  expect("p-1", {1, 0, "dead"});
  ASSERT_EQ(bed_.semel({"dlq", "replay", "--all", "--yes"}).code, 0);
  ends_well();
  expect("p-1", {2, 1, "completed"});
}

SEMEL_FAULT_TABLE(FaultTable);
SEMEL_FAULT_TABLE(FaultTablePaused);
SEMEL_FAULT_TABLE(FaultTableStdin);

}  // namespace
}  // namespace semel::test
