// The rows of a database server in the fault table: it is killed, its connections are cut, a
// process stalls inside its transaction.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/chaos/commit_fault.h"
#include "tests/chaos/outside.h"
#include "tests/chaos/server_under_test.h"
#include "tests/chaos/test_bed.h"
#include "tests/chaos/work.h"
#include "tests/support/ledger.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/test_environment.h"

namespace semel::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

void expect_once(const TestBed& bed, std::size_t sent) {
  const auto effects = bed.effects();
  EXPECT_EQ(effects.size(), sent) << "lost";
  for (const auto& [key, count] : effects) EXPECT_EQ(count, 1U) << key;
  EXPECT_EQ(bed.total(), sent);
  EXPECT_EQ(bed.completed(), sent);
  EXPECT_EQ(bed.ask("SELECT count(*) FROM semel_record"), std::to_string(sent));
  EXPECT_EQ(bed.held(), 0U);
  EXPECT_TRUE(bed.dead().empty());
}

std::size_t inside_of(const TestBed& bed) {
  return std::stoul(bed.ask("SELECT count(*) FROM effect"));
}

TEST(ServerKills, NothingIsLostAndEffectsAgreeWithRecords) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  SeededRandom random(seed);
  const std::size_t kills = rounds(std::max<std::size_t>(200 / share_of_rounds(), 10));
  const auto under_test = start_server();
  DatabaseServer& server = under_test->server();
  const TempDir folder;
  const Ledger ledger(folder.file("ledger"));
  Work inside(under_test->make_database(), {"strategy=dedup_table", "handler=native"}, 2);
  Work outside(under_test->make_database(),
               {"strategy=state_machine", "handler=plain", "ledger=" + folder.file("ledger")}, 1);
  const auto effects = [&] { return inside_of(inside.bed()); };
  const auto calls = [&] { return ledger.balance().keys; };
  for (std::size_t i = 0; i < kills; ++i) {
    const std::size_t effects_before = effects();
    const std::size_t calls_before = calls();
    inside.send(150);
    outside.send(50);
    ASSERT_TRUE(inside.goes_on(effects, effects_before)) << "kill " << i;
    ASSERT_TRUE(outside.goes_on(calls, calls_before)) << "kill " << i;
    std::this_thread::sleep_for(microseconds(random.below(30'000)));
    server.kill();
    std::this_thread::sleep_for(microseconds(random.below(50'000)));
    server.start();
  }
  inside.finish();
  outside.finish();
  expect_once(inside.bed(), inside.sent());
  const auto balance = ledger.balance();
  EXPECT_EQ(balance.keys, outside.sent()) << "lost";
  EXPECT_EQ(outside.bed().completed(), outside.sent());
  EXPECT_EQ(outside.bed().held(), 0U);
  EXPECT_TRUE(outside.bed().dead().empty());
  fmt::print("{} kills: of {} outside effects {} came twice\n", kills, balance.keys,
             balance.doubled);
}

// At whichever byte a connection is cut.
TEST(ServerKills, ConnectionsAreCutAtAnyByte) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  SeededRandom random(seed);
  const std::size_t cuts = rounds(30);
  TcpProxy proxy(shared_server().port());
  Work work(make_database_on_shared(proxy.port()),
            {"strategy=dedup_table", "handler=native", "workers=2"}, 1);
  ASSERT_NO_FATAL_FAILURE(cut_at_any_byte(proxy, work, random, cuts, 2'000));
  work.finish();
  expect_once(work.bed(), work.sent());
}

// The answer to a COMMIT of the consumer is lost, on any of its connections.
TEST(ServerKills, CommitsWhoseAnswerIsLostAreFoundDone) {
  const std::size_t losses = rounds(10);
  TcpProxy proxy(shared_server().port());
  Work work(make_database_on_shared(proxy.port()), {"strategy=dedup_table", "handler=native"}, 1);
  for (std::size_t i = 0; i < losses; ++i) {
    const std::size_t before = inside_of(work.bed());
    work.send(60);
    ASSERT_TRUE(work.goes_on([&] { return inside_of(work.bed()); }, before)) << "loss " << i;
    const CommitFault lost(proxy, TcpProxy::Then::kWithhold);
    proxy.cut_all();
    ASSERT_TRUE(lost.wait_fired()) << "the fault did not fire";
    proxy.clear();
  }
  work.finish();
  expect_once(work.bed(), work.sent());
}

TEST_P(OutsideServer, ItsAnswersAreLost) {
  const std::size_t losses = rounds(10);
  TcpProxy proxy(shared_server().port());
  Work work(make_database_on_shared(proxy.port()), settings(), 1);
  for (std::size_t i = 0; i < losses; ++i) {
    const std::size_t before = calls();
    work.send(60);
    ASSERT_TRUE(work.goes_on([&] { return calls(); }, before)) << "loss " << i;
    const CommitFault lost(proxy, TcpProxy::Then::kWithhold);
    proxy.cut_all();
    ASSERT_TRUE(lost.wait_fired()) << "the fault did not fire";
    proxy.clear();
  }
  work.finish();
  expect_all(work);
}

// A twin's key is busy then, and nothing else.
TEST(StandsStill, InItsTransactionItHoldsUpItsOwnKeysAlone) {
  TestBed bed;
  bed.write_lines(bed.file("one"), {"slow"});
  bed.write_lines(bed.file("other"), {"a", "b", "slow", "c", "d"});
  const std::vector<std::string> common{"strategy=dedup_table", "handler=native", "source=file"};
  std::vector<std::string> stands = common;
  stands.insert(stands.end(),
                {"file=" + bed.file("one"), "hold=slow", "hold_file=" + bed.file("go")});
  ChildProcess stopped = bed.start(stands);
  ASSERT_EQ(stopped.line(), "holding");
  stopped.stop();

  std::vector<std::string> goes = common;
  goes.insert(goes.end(), {"file=" + bed.file("other"), "tell=1"});
  ChildProcess other = bed.start(goes);
  std::vector<std::string> told;
  while (told.size() < 5) {
    const auto line = other.line(seconds(60));
    ASSERT_TRUE(line) << "it waits longer than its patience";
    told.push_back(*line);
  }
  EXPECT_TRUE(std::ranges::find(told, "busy slow") != told.end());
  for (const char* key : {"a", "b", "c", "d"}) {
    EXPECT_TRUE(std::ranges::find(told, fmt::format("done {}", key)) != told.end()) << key;
  }
  EXPECT_FALSE(bed.effects().contains("slow"));

  write_file(bed.file("go"), "");
  stopped.resume();
  const auto ended = stopped.wait();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->code, 0);
  const auto finished = other.wait();
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->code, 0);
  expect_once(bed, 5);
}

TEST(Together, EightProcessesOnOneQueueMakeEachEffectOnce) {
  constexpr std::size_t kProcesses = 8;
  TestBed bed;
  std::vector<ChildProcess> workers;
  for (std::size_t i = 0; i < kProcesses; ++i) {
    workers.push_back(bed.start({"strategy=dedup_table", "handler=native", "batch=20", "once=0"}));
  }
  EXPECT_TRUE(comes_true([&] {
    bed.send_new(500);
    return bed.effects_by_process().size() == kProcesses;
  })) << bed.effects_by_process().size()
      << " of them have a part";
  bed.send_new(4'000 * soak_factor());
  EXPECT_TRUE(comes_true([&] { return bed.completed() == bed.sent() && bed.held() == 0; },
                         std::chrono::minutes(5)));
  for (ChildProcess& worker : workers) {
    worker.terminate();
    ASSERT_TRUE(worker.wait());
  }
  expect_once(bed, bed.sent());
}

}  // namespace
}  // namespace semel::test
