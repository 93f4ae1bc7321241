// The operator's commands: on a store at rest, beside a runner, and where there is nothing to see.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "tests/cli/program.h"

namespace semel::test {
namespace {

// A queue with one payment done, one key used again with another body, and one for a person.
class OperateTest : public ::testing::Test {
 protected:
  OperateTest() : bed_(payments(kQueue)) {}
  void send(const std::string& messages) {
    const Ran ran = bed_.semel({"send", "payments", "-", "-o", "json"}, {.input = messages});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  void work() {
    const Ran ran = bed_.semel({"run", "--once", "-q"});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  void fill() {
    send(payment("p-1", 1, 5) + payment("p-1", 1, 6) + "{\"id\":\"p-2\"}\n");
    work();
  }
  std::int64_t sum() const { return bed_.number("SELECT sum(balance) FROM account"); }

  TestBed bed_;
};

TEST_F(OperateTest, SendCountsWhatItSends) {
  const Ran ran = bed_.semel({"send", "payments", "-", "-o", "json", "--times", "3"},
                             {.input = payment("p-1", 1, 5) + "\n" + payment("p-2", 1, 5)});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/schema"), "semel.v1.send");
  EXPECT_EQ(json_at(ran.out, "/sent"), "6");
  work();
  EXPECT_EQ(sum(), 10);
}

// As a file of messages from another system begins and ends its lines.
TEST_F(OperateTest, SendTakesALineAsTheFileSourceDoes) {
  const Words send = {"send", "payments", "-", "-o", "json"};
  const std::string mark = "\xEF\xBB\xBF";
  const std::string body = "{\"id\":\"p-1\",\"account\":1,\"amount\":5}";
  const Ran ran = bed_.semel(send, {.input = mark + body + "\r\n \t\r\n" + body + "\r"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/sent"), "2");
  EXPECT_EQ(
      bed_.semel({"send", "payments", "-", "--key", "p-1"}, {.input = mark + body + "\r\n"}).code,
      0);
  work();
  EXPECT_EQ(sum(), 5) << "three copies, alike to the byte";
  EXPECT_EQ(json_at(bed_.semel({"dlq", "list", "-o", "json"}).out, "/dead_letters/0/id"),
            "(absent)");
}

TEST_F(OperateTest, SendTakesOneMessageFromTheCommandLineAndAKey) {
  EXPECT_EQ(bed_.semel({"send", "payments", "{\"account\":1,\"amount\":4}", "--key", "given",
                        "--header", "from=test"})
                .code,
            0);
  work();
  EXPECT_EQ(sum(), 4);
  EXPECT_EQ(json_at(bed_.semel({"records", "show", "given", "-o", "json"}).out, "/records/0/state"),
            "completed");
}

TEST_F(OperateTest, SendRefusesWhatIsNotMeant) {
  EXPECT_EQ(bed_.semel({"send", "paymnts", "{}"}).code, 2);
  EXPECT_NE(bed_.semel({"send", "paymnts", "{}"}).err.find("did you mean \"payments\"?"),
            std::string::npos);
  EXPECT_EQ(bed_.semel({"send", "payments", "{}", "--times", "0"}).code, 2);
  EXPECT_EQ(bed_.semel({"send", "payments", "{}", "--header", "bare"}).code, 2);
  EXPECT_EQ(bed_.semel({"send", "payments", "{}", "--key", ""}).code, 2);
  EXPECT_EQ(bed_.semel({"send", "payments", "-", "--key", "k"},
                       {.input = payment("a", 1, 1) + payment("b", 1, 1)})
                .code,
            1);
  EXPECT_EQ(bed_.semel({"send", "payments", "-"}).code, 4) << "nothing to send";
  const TestBed from_stdin(payments("{ stdin: {} }"));
  const Ran no_queue = from_stdin.semel({"send", "payments", "{}"});
  EXPECT_EQ(no_queue.code, 2);
  EXPECT_NE(no_queue.err.find("does not read a queue"), std::string::npos) << no_queue.err;
}

TEST_F(OperateTest, WithoutAStoreEachSaysHowToMakeOne) {
  for (const Words& words : {Words{"status"},
                             {"records", "list"},
                             {"records", "show", "k"},
                             {"dlq", "list"},
                             {"store", "stats"},
                             {"store", "sweep"}}) {
    const Ran ran = bed_.semel(words);
    EXPECT_EQ(ran.code, 69) << words.front() << ran.err;
    EXPECT_NE(ran.err.find("semel store init"), std::string::npos) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(OperateTest, StoreInitMakesTheTablesAndTellsOfWal) {
  const Ran first = bed_.semel({"store", "init", "-o", "json"});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(json_at(first.out, "/schema"), "semel.v1.store_init");
  EXPECT_EQ(json_at(first.out, "/made"), "false") << "the user's tables were there";
  EXPECT_EQ(json_at(first.out, "/turned_to_wal"), "true");
  EXPECT_EQ(json_at(first.out, "/consumers/0"), "payments");
  const Ran again = bed_.semel({"store", "init", "-o", "json"});
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(json_at(again.out, "/turned_to_wal"), "false");
  EXPECT_EQ(json_at(bed_.semel({"store", "sweep", "-o", "json"}).out, "/forgotten"), "0");
}

TEST_F(OperateTest, AConfigOfTheStoreAloneServesWhatOpensTheStore) {
  write_file(bed_.config(), fmt::format("store: {{ sqlite: {{ path: {} }} }}\n", bed_.database()));
  const Ran made = bed_.semel({"store", "init"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("consumers: none"), std::string::npos) << made.out;
  for (const Words& words :
       {Words{"store", "migrate"}, Words{"store", "stats"}, Words{"store", "sweep"},
        Words{"store", "verify"}, Words{"status"}, Words{"doctor"}, Words{"consumers", "list"},
        Words{"records", "list"}, Words{"dlq", "list"}}) {
    const Ran ran = bed_.semel(words);
    EXPECT_EQ(ran.code, 0) << words.front() << ": " << ran.out << ran.err;
  }
  for (const Words& words : {Words{"run", "--once"}, Words{"check"}, Words{"send", "payments"},
                             Words{"consumers", "pause", "payments"}}) {
    const Ran ran = bed_.semel(words);
    EXPECT_EQ(ran.code, 78) << ran.out << ran.err;
    EXPECT_NE((ran.out + ran.err).find("error[E017] consumers is missing"), std::string::npos)
        << ran.out << ran.err;
  }
}

TEST_F(OperateTest, AMigrationIsPlannedDoneAndNeededNoMore) {
  const Ran plan = bed_.semel({"store", "migrate", "--dry-run"});
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_NE(plan.out.find("CREATE TABLE semel_live"), std::string::npos) << plan.out;
  EXPECT_EQ(bed_.semel({"status"}).code, 69) << "a dry run makes nothing";
  const Ran done = bed_.semel({"store", "migrate", "-o", "json"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(json_at(done.out, "/schema"), "semel.v1.store_migrate");
  EXPECT_EQ(json_at(done.out, "/from"), "0");
  EXPECT_EQ(bed_.semel({"status"}).code, 0);
  EXPECT_NE(bed_.semel({"store", "migrate"}).err.find("up to date"), std::string::npos);
}

TEST_F(OperateTest, StatusShowsOneScreenAndTheCodeTellsWhetherAnyoneIsDown) {
  ASSERT_EQ(bed_.semel({"store", "init"}).code, 0);
  EXPECT_EQ(bed_.semel({"status"}).code, 0);
  send(payment("p-1", 1, 5));
  const Ran down = bed_.semel({"status", "-o", "json"});
  EXPECT_EQ(down.code, 1) << "messages wait and nobody runs";
  EXPECT_EQ(json_at(down.out, "/consumers/0/state"), "down");
  EXPECT_EQ(json_at(down.out, "/consumers/0/held"), "1");
  EXPECT_EQ(json_at(down.out, "/consumers/0/guarantee"), "transactional");
  work();
  const Ran idle = bed_.semel({"status"});
  EXPECT_EQ(idle.code, 0);
  EXPECT_NE(idle.out.find("payments"), std::string::npos);
  EXPECT_NE(idle.out.find("1 completed"), std::string::npos) << idle.out;
}

TEST_F(OperateTest, EverythingWorksBesideARunner) {
  Program runner({"run", bed_.config(), "-v"});
  send(payment("p-1", 1, 5) + payment("p-1", 1, 6));
  ASSERT_TRUE(runner.says("p-1  conflict")) << runner.out() << runner.err();
  const Ran status = bed_.semel({"status", "-o", "json"});
  EXPECT_EQ(status.code, 0) << status.err;
  EXPECT_EQ(json_at(status.out, "/consumers/0/state"), "running");
  EXPECT_EQ(json_at(status.out, "/running_pids/0"), std::to_string(runner.pid()));
  EXPECT_EQ(json_at(bed_.semel({"dlq", "list", "-o", "json"}).out, "/count"), "1");
  EXPECT_EQ(bed_.semel({"records", "show", "p-1"}).code, 0);
  EXPECT_EQ(bed_.semel({"dlq", "discard", "--all", "--yes"}).code, 0);
  EXPECT_EQ(bed_.semel({"store", "sweep"}).code, 0);
  send(payment("p-9", 1, 1));
  EXPECT_TRUE(runner.says("p-9  done")) << runner.err();
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  EXPECT_EQ(sum(), 6);
}

TEST_F(OperateTest, RecordsAreShownByTheProducersKey) {
  fill();
  const Ran shown = bed_.semel({"records", "show", "p-1", "-o", "json"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(json_at(shown.out, "/schema"), "semel.v1.records");
  EXPECT_EQ(json_at(shown.out, "/records/0/key"), "p-1");
  EXPECT_EQ(json_at(shown.out, "/records/0/state"), "completed");
  EXPECT_EQ(json_at(shown.out, "/records/0/consumer"), "payments");
  EXPECT_EQ(bed_.semel({"records", "show", "nobody"}).code, 4);
  EXPECT_EQ(bed_.semel({"records", "show", "p-1", "--consumer", "nobody"}).code, 2);
  const Ran list = bed_.semel({"records", "list", "--state", "dead", "-o", "json"});
  EXPECT_EQ(json_at(list.out, "/records/0/key"), "p-2") << list.out;
  EXPECT_EQ(json_at(list.out, "/records/0/reason"), "payload.invalid") << list.out;
  EXPECT_NE(bed_.semel({"records", "list"}).out.find("payload.invalid"), std::string::npos);
}

TEST_F(OperateTest, ForgettingNeedsAYesAndMakesTheKeyNew) {
  fill();
  ASSERT_EQ(sum(), 5);
  EXPECT_EQ(bed_.semel({"records", "forget", "p-1"}).code, 2) << "no terminal to ask on";
  EXPECT_EQ(bed_.semel({"records", "forget", "p-1", "--dry-run"}).code, 0);
  EXPECT_EQ(bed_.semel({"records", "show", "p-1"}).code, 0);
  EXPECT_EQ(bed_.semel({"records", "forget", "p-1", "nobody", "--yes"}).code, 3);
  EXPECT_EQ(bed_.semel({"records", "forget", "p-1", "--yes"}).code, 4);
  send(payment("p-1", 1, 5));
  work();
  EXPECT_EQ(sum(), 10);
}

TEST_F(OperateTest, UnlockLetsADeadOneTryAgain) {
  send("{\"id\":\"p-2\",\"account\":1}\n");
  work();
  const Ran unlocked = bed_.semel({"records", "unlock", "p-2", "--yes", "-o", "json"});
  EXPECT_EQ(unlocked.code, 0) << unlocked.err;
  EXPECT_EQ(json_at(unlocked.out, "/unlocked"), "1");
  EXPECT_EQ(bed_.semel({"records", "unlock", "nobody"}).code, 4);
  work();
  EXPECT_EQ(json_at(bed_.semel({"records", "show", "p-2", "-o", "json"}).out, "/records/0/state"),
            "dead");
  EXPECT_EQ(bed_.semel({"records", "unlock", "p-1"}).code, 4);
}

TEST_F(OperateTest, DeadLettersAreListedShownReplayedAndDiscarded) {
  fill();
  const Ran list = bed_.semel({"dlq", "list", "-o", "json"});
  EXPECT_EQ(json_at(list.out, "/schema"), "semel.v1.dead_letters");
  ASSERT_EQ(json_at(list.out, "/count"), "2") << list.out;
  const Ran conflicts = bed_.semel({"dlq", "list", "--reason", "key.conflict", "-o", "json"});
  ASSERT_EQ(json_at(conflicts.out, "/count"), "1") << conflicts.out;
  const std::string id = json_at(conflicts.out, "/dead_letters/0/id");
  const Ran shown = bed_.semel({"dlq", "show", id, "-o", "json"});
  EXPECT_EQ(json_at(shown.out, "/schema"), "semel.v1.dead_letter");
  EXPECT_NE(json_at(shown.out, "/dead_letter/payload").find("\"amount\":6"), std::string::npos);
  EXPECT_NE(bed_.semel({"dlq", "show", id}).out.find("key.conflict"), std::string::npos);
  EXPECT_EQ(bed_.semel({"dlq", "show", "999999"}).code, 4);

  EXPECT_EQ(bed_.semel({"dlq", "replay"}).code, 2) << "which?";
  EXPECT_EQ(bed_.semel({"dlq", "replay", id, "--all", "--yes"}).code, 2) << "which?";
  EXPECT_EQ(bed_.semel({"dlq", "replay", id}).code, 2) << "no terminal to ask on";
  EXPECT_EQ(bed_.semel({"dlq", "replay", "999999", "--yes"}).code, 4);
  const Ran plan = bed_.semel({"dlq", "replay", "--all", "--dry-run", "-o", "json"});
  EXPECT_EQ(json_at(plan.out, "/matched"), "2");
  EXPECT_EQ(json_at(plan.out, "/replayed"), "0");
  EXPECT_EQ(json_at(plan.out, "/skipped_conflict"), "1") << plan.out;
  EXPECT_EQ(plan.code, 3) << "as the replay ends";
  const Ran one = bed_.semel({"dlq", "replay", id, "--dry-run"});
  EXPECT_EQ(one.out, "0 would be replayed, 1 skipped: the key belongs to another payload\n");
  EXPECT_EQ(one.code, 3);
  const Ran skipped = bed_.semel({"dlq", "replay", id, "--yes", "-o", "json"});
  EXPECT_EQ(skipped.code, 3);
  EXPECT_EQ(json_at(skipped.out, "/skipped_conflict"), "1") << skipped.out;

  const Ran gone = bed_.semel({"dlq", "discard", id, "--yes", "-o", "json"});
  EXPECT_EQ(gone.code, 0);
  EXPECT_EQ(json_at(gone.out, "/discarded"), "1");
  EXPECT_EQ(json_at(bed_.semel({"dlq", "list", "-o", "json"}).out, "/count"), "1");
}

TEST_F(OperateTest, AReplayThatCanSucceedDoes) {
  bed_.sql(
      "CREATE TRIGGER closed BEFORE UPDATE ON account BEGIN SELECT RAISE(ABORT, 'closed'); END");
  send(payment("p-1", 1, 5));
  const Ran ran = bed_.semel({"run", "--once", "--set", "consumers[0].retry.attempts=1", "-q"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  bed_.sql("DROP TRIGGER closed");
  const Ran replayed = bed_.semel({"dlq", "replay", "--all", "--yes", "-o", "json"});
  EXPECT_EQ(replayed.code, 0) << replayed.out;
  EXPECT_EQ(json_at(replayed.out, "/replayed"), "1");
  work();
  EXPECT_EQ(sum(), 5);
  EXPECT_EQ(json_at(bed_.semel({"dlq", "list", "-o", "json"}).out, "/count"), "0");
  const Ran list = bed_.semel({"dlq", "list", "--replayed", "-o", "json"});
  EXPECT_EQ(json_at(list.out, "/dead_letters/0/replayed"), "1") << "it stays, and says so";
  EXPECT_EQ(bed_.semel({"dlq", "replay", "--all", "--yes"}).code, 4) << "none is left";
  const Ran again = bed_.semel({"dlq", "replay", "--replayed", "--yes", "-o", "json"});
  EXPECT_EQ(again.code, 3) << "what is completed meanwhile is skipped";
  EXPECT_EQ(json_at(again.out, "/skipped_completed"), "1") << again.out;
}

TEST_F(OperateTest, ATableThatIsMissingStopsARunBeforeItBegins) {
  bed_.sql("ALTER TABLE account RENAME TO hidden");
  send(payment("p-1", 1, 5));
  const Ran ran = bed_.semel({"run", "--once"});
  EXPECT_EQ(ran.code, 78) << ran.err;
  EXPECT_NE(ran.err.find("error[D133] payments: "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("no such table: account"), std::string::npos) << ran.err;
  EXPECT_NE(bed_.semel({"doctor"}).out.find("[fail] D133"), std::string::npos);
  bed_.sql("ALTER TABLE hidden RENAME TO account");
  EXPECT_EQ(bed_.semel({"doctor"}).code, 0);
  work();
  EXPECT_EQ(sum(), 5);
}

TEST_F(OperateTest, RowsThatBreakAForeignKeyAlreadyAreTold) {
  bed_.sql("CREATE TABLE entry (account REFERENCES account(id)); INSERT INTO entry VALUES (777)");
  ASSERT_EQ(bed_.semel({"store", "init", "-q"}).code, 0);
  const Ran told = bed_.semel({"doctor"});
  EXPECT_EQ(told.code, 1) << told.out << told.err;
  EXPECT_NE(told.out.find("[fail] D136"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("1 row of table entry has no parent in account"), std::string::npos)
      << told.out;
  const Ran checked = bed_.semel({"check"});
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_NE(checked.out.find("warning[D136]"), std::string::npos) << checked.out;
  const Ran off = bed_.semel({"doctor", "--set", "store.sqlite.foreign_keys=false"});
  EXPECT_EQ(off.code, 0) << off.out << off.err;
  EXPECT_NE(off.out.find("foreign_keys = off"), std::string::npos) << off.out;
}

// A reference to what is not there fails its own message, also where SQLite would say so at the
// commit: the message is counted and given up, and the run ends.
TEST_F(OperateTest, AnOrphanIsItsMessagesOwnError) {
  const std::string keys[] = {"", " DEFERRABLE INITIALLY DEFERRED"};
  for (const std::string& deferred : keys) {
    SCOPED_TRACE(deferred);
    bed_.sql(
        "DROP TABLE account; CREATE TABLE IF NOT EXISTS limits (amount INTEGER PRIMARY KEY);"
        "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER REFERENCES limits(amount)" +
        deferred + "); INSERT INTO account VALUES (1, NULL), (2, 0)");
    bed_.sql("INSERT OR IGNORE INTO limits VALUES (0), (7)");
    send(payment("good" + deferred, 2, 7) + payment("orphan" + deferred, 2, 5));
    const Ran ran = bed_.semel({"run", "--once", "--set", "consumers[0].retry.attempts=1", "-q"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(sum(), 7);
  }
  const Ran list = bed_.semel({"dlq", "list", "-o", "json"});
  EXPECT_EQ(count_of(list.out, "FOREIGN KEY constraint failed"), 2U) << list.out;
}

TEST_F(OperateTest, ANumberThatSqliteWouldRoundIsRefusedUnlessItIsAskedFor) {
  const std::string message = "{\"id\":\"p-1\",\"account\":1,\"amount\":12345678901234567.89}\n";
  send(message);
  work();
  EXPECT_EQ(sum(), 0);
  const Ran list = bed_.semel({"dlq", "list", "-o", "json"});
  EXPECT_EQ(json_at(list.out, "/dead_letters/0/reason"), "payload.invalid") << list.out;
  EXPECT_EQ(bed_.semel({"dlq", "replay", "--all", "--yes"}).code, 0);
  const Ran ran = bed_.semel(
      {"run", "--once", "-q", "--set", "consumers[0].handler.sql.params.amount.type=real"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(sum(), 12345678901234568);
}

TEST_F(OperateTest, AStoreThatMayNotBeWrittenIsSaid) {
  ASSERT_EQ(bed_.semel({"store", "init"}).code, 0);
  ASSERT_EQ(::chmod(bed_.database().c_str(), 0444), 0);
  const Ran ran = bed_.semel({"send", "payments", "{}"}, {.ordinary = true});
  EXPECT_EQ(ran.code, 77) << ran.err;
  EXPECT_NE(ran.err.find("R203"), std::string::npos) << ran.err;
}

TEST_F(OperateTest, AFileThatIsNoDatabaseIsSaid) {
  write_file(bed_.file("text.db"), "this is not a database, whatever it is called\n");
  const Ran ran = bed_.semel({"status", "--set", "store.sqlite.path=" + bed_.file("text.db")});
  EXPECT_EQ(ran.code, 78) << ran.err;
  EXPECT_NE(ran.err.find("R213"), std::string::npos) << ran.err;
  const Ran folder = bed_.semel({"run", "--once", "--set", "store.sqlite.path=" + bed_.file("")});
  EXPECT_EQ(folder.code, 78) << folder.err;
  EXPECT_NE(folder.err.find("error[R212]"), std::string::npos) << folder.err;
}

TEST_F(OperateTest, AStoreInMemoryIsNobodyElsesBusiness) {
  write_file(bed_.file("memory.yaml"),
             "version: 1\nstore: { memory: {} }\nconsumers:\n  - name: payments\n"
             "    source: { stdin: {} }\n    key: { from: [json:/id] }\n"
             "    handler: { native: payments }\n");
  const Ran ran = run({"status", bed_.file("memory.yaml")});
  EXPECT_EQ(ran.code, 69);
  EXPECT_NE(ran.err.find("memory"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace semel::test
