// The rows of a Redis server in the fault table: it is killed, it forgets, its connections are cut.
// No message is ever lost; repeated effects are counted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/chaos/redis_database.h"
#include "tests/chaos/redis_losses.h"
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

std::vector<std::string> plain(const TempDir& folder, std::vector<std::string> more = {}) {
  more.insert(more.end(),
              {"strategy=state_machine", "handler=plain", "ledger=" + folder.file("ledger")});
  return more;
}

std::vector<std::string> ids(std::size_t count) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back("m" + std::to_string(i));
  return ids;
}

std::filesystem::path newest_log(const std::string& folder) {
  std::filesystem::path newest;
  for (const auto& file : std::filesystem::directory_iterator(folder + "/appendonlydir")) {
    if (file.path().string().ends_with(".incr.aof") && file.path() > newest) newest = file.path();
  }
  return newest;
}

class RedisKills : public testing::TestWithParam<const char*> {};

// SIGKILL leaves the page cache intact: another test covers the loss of power.
TEST_P(RedisKills, NothingIsLostWhereTheServerIsKilled) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  SeededRandom random(seed);
  const std::size_t kills = rounds(10);
  RedisServer server({.arguments = {"--appendfsync", GetParam()}});
  const TempDir folder;
  const Ledger ledger(folder.file("ledger"));
  Work work(make_redis_database(server), plain(folder), 2);
  const auto calls = [&] { return ledger.balance().keys; };
  for (std::size_t i = 0; i < kills; ++i) {
    const std::size_t before = calls();
    work.send(100);
    ASSERT_TRUE(work.goes_on(calls, before)) << "kill " << i;
    std::this_thread::sleep_for(microseconds(random.below(30'000)));
    server.kill();
    std::this_thread::sleep_for(microseconds(random.below(50'000)));
    server.start();
  }
  work.finish();
  const std::size_t doubled = expect_none_lost(work.bed(), ledger, work.sent());
  fmt::print("{} kills under {}: of {} effects {} came twice\n", kills, GetParam(), work.sent(),
             doubled);
}

INSTANTIATE_TEST_SUITE_P(Sync, RedisKills, testing::Values("always", "everysec"),
                         [](const auto& info) { return std::string(info.param); });

// At whichever byte a connection is cut: a claim is repeated with its nonces, and claiming again
// finds out whether a finish took effect. So no handler is called again.
TEST(RedisCuts, ConnectionsAreCutAtAnyByte) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  SeededRandom random(seed);
  const std::size_t cuts = rounds(10);
  TcpProxy proxy(RedisServer::shared().port());
  const TempDir folder;
  const Ledger ledger(folder.file("ledger"));
  Work work(make_redis_database(RedisServer::shared(), proxy.port()), plain(folder), 1);
  ASSERT_NO_FATAL_FAILURE(cut_at_any_byte(proxy, work, random, cuts, 1'000));
  work.finish();
  expect_none_lost(work.bed(), ledger, work.sent());
}

// Acts of an operator, or of a script, on the server while workers run.
class RedisForgets : public testing::Test {
 protected:
  // Repeats `what` while the lines of a file are handled, then lets the workers finish.
  void beside(const std::function<void()>& what) {
    const RedisServer server(RedisServer::fast());
    server_ = &server;
    TestBed bed(make_redis_database(server));
    bed.write_lines(bed.file("messages"), ids(kLines));
    const auto settings =
        plain(folder_,
              {"source=file", "from=start", "file=" + bed.file("messages"), "batch=20", "lease=2s",
               "slow=300", "hold=" + ids(kLines).back(), "hold_file=" + bed.file("go")});
    ChildProcess worker = bed.start(settings);
    // A worker that cannot reach its store at the start reports that and ends.
    ASSERT_TRUE(comes_true([&] { return ledger().balance().keys > 0; }));
    // Its last line waits until there was enough of it.
    constexpr std::size_t kEnough = 10;
    std::size_t times = 0;
    bool at_last_line = false;
    while (times < kEnough || !at_last_line) {
      ASSERT_FALSE(worker.wait(milliseconds(0)));
      if (worker.line(milliseconds(20)) == "holding") at_last_line = true;
      what();
      ++times;
    }
    write_file(bed.file("go"), {});
    const auto ended = worker.wait();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->code, 0);
    const auto balance = ledger().balance();
    EXPECT_EQ(balance.keys, kLines) << "lost";
    fmt::print("{} times: of {} effects {} came again\n", times, kLines,
               balance.effects - balance.keys);
  }

  const std::size_t kLines = is_night() ? 6'000 : 2'000;
  Ledger ledger() const { return Ledger(folder_.file("ledger")); }
  const RedisServer& server() const { return *server_; }

  const TempDir folder_;

 private:
  const RedisServer* server_ = nullptr;
};

TEST_F(RedisForgets, ScriptsAreToldAgain) {
  beside([&] { server().query("SCRIPT FLUSH"); });
  EXPECT_EQ(ledger().balance().doubled, 0U);
}

TEST_F(RedisForgets, ConnectionsThatAreKilledAreOpenedAgain) {
  beside([&] { server().query("CLIENT KILL TYPE normal"); });
  EXPECT_EQ(ledger().balance().doubled, 0U);
}

// A file is read from the position that the server has; after the loss, from its beginning.
TEST_F(RedisForgets, WhatItForgetsIsHandledAgainAndNeverLost) {
  std::size_t left = 6;
  beside([&] {
    if (left == 0 || ledger().balance().keys < kLines / 4) return;
    --left;
    server().query("FLUSHALL");
  });
  EXPECT_GE(ledger().balance().doubled, 1U) << "the table says >=1: it shows";
}

// SIGKILL does not show the possible loss under `appendfsync everysec`: a loss of power does, and
// leaves the log cut off somewhere.
TEST(RedisPowerCut, WhatTheLogLostIsHandledAgainAndNothingElse) {
  constexpr std::size_t kKeys = 1'000;
  RedisServer server({.arguments = {"--appendfsync", "everysec"}});
  const TempDir folder;
  const Ledger ledger(folder.file("ledger"));
  TestBed bed(make_redis_database(server));
  const auto run = [&](const std::string& lines) {
    bed.write_lines(bed.file(lines), ids(kKeys));
    return bed.run(plain(folder, {"source=file", "file=" + bed.file(lines), "lease=2s"}));
  };
  ASSERT_EQ(run("messages"), 0);
  ASSERT_EQ(bed.completed(), kKeys);
  const std::string told = server.query("CONFIG GET dir");
  server.kill();
  const auto log = newest_log(told.substr(told.find('\n') + 1));
  std::filesystem::resize_file(log, std::filesystem::file_size(log) * 3 / 4);
  server.start();
  const std::size_t forgotten = kKeys - bed.completed();
  EXPECT_GE(forgotten, 1U) << "nothing was lost from the log";
  // Uses another file: the restarted server does not know that the reader of the first one is gone.
  ASSERT_EQ(run("again"), 0);
  const auto balance = ledger.balance();
  EXPECT_EQ(balance.keys, kKeys) << "lost";
  EXPECT_EQ(balance.effects, kKeys + forgotten);
  fmt::print("a quarter of the log lost: of {} completed {} forgotten, and handled again\n", kKeys,
             forgotten);
}

TEST(RedisEviction, WhatIsEvictedIsHandledAgainAndNeverLost) {
  constexpr std::size_t kKeys = 3'000;
  const RedisServer server(
      {.arguments = {"--appendfsync", "no", "--maxmemory-policy", "volatile-lru"}});
  const TempDir folder;
  const Ledger ledger(folder.file("ledger"));
  TestBed bed(make_redis_database(server));
  auto twice = ids(kKeys);
  const auto again = ids(kKeys);
  twice.insert(twice.end(), again.begin(), again.end());
  bed.write_lines(bed.file("messages"), twice);
  // There is room for some of the records, and none for all.
  server.query("CONFIG SET maxmemory 2mb");
  ASSERT_EQ(bed.run(plain(folder, {"source=file", "from=start", "accept=eviction",
                                   "file=" + bed.file("messages"), "lease=2s"})),
            0);
  EXPECT_LT(bed.completed(), kKeys) << "nothing was evicted";
  const auto balance = ledger.balance();
  EXPECT_EQ(balance.keys, kKeys) << "lost";
  EXPECT_GE(balance.doubled, 1U) << "the table says >=1: it shows";
  fmt::print("of {} keys that came twice {} were evicted and handled again\n", kKeys,
             balance.doubled);
}

}  // namespace
}  // namespace semel::test
