// Messages that a consumer sends to others of its file, and copies of dead letters.
#include <gtest/gtest.h>

#include <csignal>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "tests/cli/program.h"

namespace semel::test {
namespace {

// Behind `- name: payments`: each moves stock and is then mailed; one without an amount is dead.
// Kills that come one after another may all find the same message in hand.
std::string shop(const std::string& mails_strategy) {
  return R"yaml(    source: { file: { path: orders.jsonl } }
    key: json:/id
    retry: { crashes: 1000 }
    handler:
      sql:
        params: { id: json:/id, amount: json:/amount }
        statements: [ "INSERT INTO moved VALUES (:id, :amount)" ]
    publish: [mails]
    dead_letter: { copy_to: graves }
  - name: mails
    source: { queue: {} }
    key: json:/id
    retry: { crashes: 1000 }
    strategy: )yaml" +
         mails_strategy + R"yaml(
    handler:
      sql:
        params: { id: json:/id }
        statements: [ "INSERT INTO mailed VALUES (:id)" ]
  - name: graves
    source: { queue: {} }
    key: json:/id
    retry: { crashes: 1000 }
    handler:
      sql:
        params: { id: json:/id }
        statements: [ "INSERT INTO buried VALUES (:id)" ]
)yaml";
}

std::string orders(int first, int last) {
  std::string lines;
  for (int i = first; i < last; ++i) {
    const std::string id = "{\"id\":\"o-" + std::to_string(i) + "\"";
    const std::string amount = i % 50 == 7 ? "}\n" : ",\"amount\":1}\n";
    lines += id + amount;
    if (i % 9 == 0) lines += id + amount;
  }
  return lines;
}

class OutboxTest : public ::testing::Test {
 protected:
  static void prepare(const TestBed& bed, int count) {
    bed.sql(
        "CREATE TABLE moved (id TEXT, amount INTEGER); CREATE TABLE mailed (id TEXT);"
        "CREATE TABLE buried (id TEXT);");
    write_file(bed.file("orders.jsonl"), orders(0, count));
  }
  // The work done, in all and for how many orders.
  static void expect_once(const TestBed& bed, int moved, int buried) {
    for (const auto& [table, rows] :
         {std::pair("moved", moved), std::pair("mailed", moved), std::pair("buried", buried)}) {
      EXPECT_EQ(bed.number("SELECT count(*) FROM " + std::string(table)), rows) << table;
      EXPECT_EQ(bed.number("SELECT count(DISTINCT id) FROM " + std::string(table)), rows) << table;
    }
  }
};

// Else the grave of the second would be taken for a copy of the first.
TEST_F(OutboxTest, TwoConsumersBuryOneKeyTwice) {
  const auto mover = [](const std::string& file) {
    return "    source: { file: { path: " + file + R"yaml( } }
    key: json:/id
    handler:
      sql:
        params: { id: json:/id, amount: json:/amount }
        statements: [ "INSERT INTO moved VALUES (:id, :amount)" ]
    dead_letter: { copy_to: graves }
)yaml";
  };
  const TestBed bed(mover("orders.jsonl") + "  - name: refunds\n" + mover("refunds.jsonl") +
                    R"yaml(  - name: graves
    source: { queue: {} }
    handler:
      sql:
        params: { id: json:/id }
        statements: [ "INSERT INTO buried VALUES (:id)" ]
)yaml");
  prepare(bed, 0);
  for (const char* const file : {"orders.jsonl", "refunds.jsonl"}) {
    write_file(bed.file(file), "{\"id\":\"o-1\"}\n");
  }
  const Ran ran = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(bed.number("SELECT count(*) FROM buried WHERE id = 'o-1'"), 2) << ran.err;
}

TEST_F(OutboxTest, ARunThatEndsBringsWhatIsSentToItsEnd) {
  const TestBed bed(shop("dedup_table"));
  prepare(bed, 200);
  const Ran ran = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  expect_once(bed, 196, 4);
  EXPECT_EQ(json_at(bed.semel({"dlq", "list", "-o", "json"}).out, "/count"), "4")
      << "the store keeps them all the same";
}

TEST_F(OutboxTest, HoweverOftenItIsKilledEachMessageIsSentOnce) {
  constexpr int kEach = 200;
  const int kills = soaks() ? 200 : 10;
  const TestBed bed(shop("inbox"));
  prepare(bed, 0);
  ASSERT_EQ(bed.semel({"store", "init"}).code, 0);
  const auto done = [&] {
    return bed.number("SELECT (SELECT count(*) FROM mailed) + (SELECT count(*) FROM buried)");
  };
  std::mt19937 random(std::random_device{}());
  int count = 0;
  int in_mid_work = 0;
  // A kill that finds all done comes too late, and is made up for.
  for (int killed = 0; in_mid_work < kills && killed < 5 * kills; ++killed) {
    append_file(bed.file("orders.jsonl"), orders(count, count + kEach));
    count += kEach;
    const auto before = done();
    Program runs({"run", bed.config(), "-q"});
    ASSERT_TRUE(comes_true([&] { return done() > before; })) << runs.err();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3'000));
    runs.signal(SIGKILL);
    EXPECT_EQ(runs.wait().signal, SIGKILL);
    if (done() < count) ++in_mid_work;
  }
  EXPECT_EQ(in_mid_work, kills) << "the kills come too late";
  const Ran rest = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  expect_once(bed, count - count / 50, count / 50);
}

TEST_F(OutboxTest, WhoMayNotBeSentToIsNamed) {
  std::string config = shop("inbox");
  config.replace(config.find("publish: [mails]"), 16, "publish: [males]");
  const TestBed bed(config);
  const Ran ran = bed.semel({"check"});
  EXPECT_EQ(ran.code, 78);
  EXPECT_NE((ran.out + ran.err).find("E040"), std::string::npos) << ran.out << ran.err;
}

}  // namespace
}  // namespace semel::test
