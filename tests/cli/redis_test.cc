// The program on a Redis server: records and what waits are there, the work is elsewhere.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "tests/cli/program.h"
#include "tests/support/inputs.h"
#include "tests/support/redis_server.h"

namespace semel::test {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kFile = "{ file: { path: in.jsonl } }";

// A folder with a config over a prefix of its own, and a script that is the handler.
class RedisTestBed {
 public:
  explicit RedisTestBed(std::string_view source, std::string_view more = {},
                        const RedisServer& server = RedisServer::shared())
      : server_(server), prefix_(server.new_database() + ":") {
    write_file(config(), fmt::format("version: 1\n"
                                     "store: {{ redis: {{ url: \"{}\", prefix: \"{}\" }} }}\n"
                                     "consumers:\n"
                                     "  - name: payments\n"
                                     "    source: {}\n"
                                     "    key: json:/id\n"
                                     "    retry: {{ backoff: 1ms..5ms }}\n{}"
                                     "    handler: {{ exec: [./handler.sh] }}\n",
                                     server.url(), prefix_, source, more));
    handle("echo \"$SEMEL_KEY\" >> calls.txt");
  }

  void handle(std::string_view script) const {
    write_file(file("handler.sh"),
               fmt::format("#!/bin/sh\ncd '{}'\ncat > /dev/null\n{}\n", file(""), script));
    std::filesystem::permissions(file("handler.sh"), std::filesystem::perms::owner_all);
  }
  void lines(int from, int to) const {
    std::ofstream stream(file("in.jsonl"), std::ios::app);
    for (int i = from; i < to; ++i) stream << fmt::format("{{\"id\":\"p-{}\"}}\n", i);
  }
  // How often each key was handled.
  std::map<std::string, int> calls() const {
    std::map<std::string, int> counted;
    std::ifstream stream(file("calls.txt"));
    for (std::string key; std::getline(stream, key);) ++counted[key];
    return counted;
  }
  std::string file(std::string_view name) const { return folder_.file(name); }
  std::string config() const { return file("semel.yaml"); }
  const RedisServer& server() const { return server_; }
  Ran semel(Words words, const StartOptions& options = {}) const {
    words.insert(words.end(), {"-c", config()});
    return run(words, options);
  }
  Ran semel_at(const std::string& url, Words words) const {
    words.insert(words.end(), {"--set", "store.redis.url=" + url});
    return semel(std::move(words));
  }
  std::string shown(const std::string& key, const std::string& what) const {
    return json_at(semel({"records", "show", key, "-o", "json"}).out, "/records/0/" + what);
  }
  std::string letters() const {
    return json_at(semel({"dlq", "list", "-o", "json"}).out, "/count");
  }

 private:
  const RedisServer& server_;
  const std::string prefix_;
  TempDir folder_;
};

TEST(RedisProgram, AFileIsHandledOnceEachThoughItsLinesComeTwice) {
  const RedisTestBed bed(kFile);
  bed.lines(0, 60);
  bed.lines(0, 60);
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "60") << ran.out;
  EXPECT_EQ(bed.calls().size(), 60U);
  const Ran again = bed.semel(
      {"run", "--once", "-o", "json", "-q", "--set", "consumers[0].source.file.from=start"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(json_at(again.out, "/deliveries"), "120") << again.out;
  EXPECT_EQ(json_at(again.out, "/effects"), "0") << again.out;
  for (const auto& [key, times] : bed.calls()) EXPECT_EQ(times, 1) << key;
  bed.lines(60, 61);
  const Ran kept = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(json_at(kept.out, "/deliveries"), "1") << "its position was kept: " << kept.out;
  EXPECT_EQ(bed.shown("p-60", "state"), "completed");
  const Ran stats = bed.semel({"store", "stats", "-o", "json"});
  EXPECT_EQ(json_at(stats.out, "/generations/0/records"), "61") << stats.out << stats.err;
  EXPECT_GT(std::stoi(json_at(stats.out, "/record_bytes")), 80) << stats.out;
  EXPECT_NE(bed.semel({"store", "stats"}).out.find("each for its ttl"), std::string::npos);
  const Ran verified = bed.semel({"store", "verify", "--full"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
}

TEST(RedisProgram, WhatFailsIsTriedAgainAndWhatIsHopelessIsADeadLetter) {
  const RedisTestBed bed(kQueue);
  bed.handle(
      "echo \"$SEMEL_KEY\" >> calls.txt\n"
      "case $SEMEL_KEY in\n"
      "  *3) [ \"$SEMEL_ATTEMPT\" -gt 2 ] || exit 75;;\n"
      "  *7) [ -e mended ] || { echo 'no such account' >&2; exit 65; };;\n"
      "esac");
  std::string sent;
  for (int i = 0; i < 10; ++i) sent += fmt::format("{{\"id\":\"p-{}\"}}\n", i);
  ASSERT_EQ(bed.semel({"send", "payments", "-", "-q"}, {.input = sent}).code, 0);
  const Ran ran = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(bed.calls()["p-3"], 3);
  EXPECT_EQ(bed.shown("p-3", "state"), "completed");
  EXPECT_EQ(bed.letters(), "1");
  const Ran listed = bed.semel({"records", "list", "-o", "json"});
  EXPECT_EQ(json_at(listed.out, "/records/0/key"), "p-7") << listed.out << listed.err;
  EXPECT_EQ(json_at(listed.out, "/records/0/state"), "dead");
  EXPECT_EQ(json_at(listed.out, "/records/1/key"), "(absent)");
  write_file(bed.file("mended"), "");
  const Ran unlocked = bed.semel({"records", "unlock", "p-7", "--yes"});
  EXPECT_EQ(unlocked.code, 0) << unlocked.err;
  EXPECT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(bed.shown("p-7", "state"), "completed");
  EXPECT_EQ(bed.calls()["p-7"], 2);
  const Ran forgotten = bed.semel({"records", "forget", "p-0", "--yes"});
  EXPECT_EQ(forgotten.code, 0) << forgotten.err;
  EXPECT_EQ(bed.shown("p-0", "state"), "(absent)");
  const Ran verified = bed.semel({"store", "verify", "--full"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
}

TEST(RedisProgram, NothingIsLostHoweverOftenTheRunIsKilled) {
  constexpr int kAtATime = 16;
  const bool soak = soaks();
  const int messages = soak ? 5'000 : 400, kills = soak ? 25 : 6;
  const RedisTestBed bed(kFile);
  bed.lines(0, messages);
  std::size_t killed = 0;
  for (int i = 1; i <= kills; ++i) {
    const std::size_t goal = static_cast<std::size_t>(i * messages / (kills + 2));
    Program runner({"run", bed.config(), "-q"});
    while (runner.runs() && bed.calls().size() < goal) {
      std::this_thread::sleep_for(milliseconds(2));
    }
    runner.signal(SIGKILL);
    const Ran ran = runner.wait();
    EXPECT_EQ(ran.signal, SIGKILL) << "it ended by itself, with " << ran.code << ": " << ran.err;
    if (ran.signal == SIGKILL) ++killed;
  }
  const Ran last = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(last.code, 0) << last.err;
  std::size_t repeats = 0;
  for (const auto& [key, times] : bed.calls()) {
    repeats += static_cast<std::size_t>(times - 1);
  }
  EXPECT_EQ(bed.calls().size(), static_cast<std::size_t>(messages));
  EXPECT_LE(repeats, killed * kAtATime) << "only what was in hand when it was killed";
  std::printf("%zu of %d repeated by %zu kills\n", repeats, messages, killed);
  EXPECT_EQ(bed.letters(), "0");
  const Ran verified = bed.semel({"store", "verify", "--full"});
  EXPECT_EQ(verified.code, 0) << verified.out;
}

TEST(RedisProgram, AFileHasOneReaderAndADeadOnesIsFreeAtOnce) {
  const RedisTestBed bed(kFile);
  bed.lines(0, 1);
  Program first({"run", bed.config(), "-q"});
  ASSERT_TRUE(comes_true([&] { return bed.calls().size() == 1; })) << first.err();
  const Ran second = bed.semel({"run", "--once"});
  EXPECT_EQ(second.code, 69) << second.err;
  EXPECT_NE(second.err.find("error[R230]"), std::string::npos) << second.err;
  first.signal(SIGKILL);
  first.wait();
  bed.lines(1, 2);
  const Ran third = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(third.code, 0) << third.err;
  EXPECT_EQ(bed.calls().size(), 2U);
}

TEST(RedisProgram, ARunSaysOnceThatTheServerIsAwayAndGoesOn) {
  RedisServer server(RedisServer::fast());
  const RedisTestBed bed(kFile, {}, server);
  Program runner({"run", bed.config(), "-o", "none"});
  bed.lines(0, 20);
  ASSERT_TRUE(comes_true([&] { return bed.calls().size() == 20; })) << runner.err();
  server.kill();
  bed.lines(20, 40);
  EXPECT_TRUE(tells(runner, "payments: store: error")) << runner.err();
  EXPECT_EQ(bed.calls().size(), 20U) << "nothing is handled without a record";
  server.start();
  EXPECT_TRUE(comes_true([&] { return bed.calls().size() == 40; })) << runner.err();
  runner.signal(SIGTERM);
  const Ran ran = runner.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(count_of(ran.err, "payments: store: error"), 1U) << ran.err;
}

TEST(RedisProgram, DoctorTellsWhatTheServerMayForget) {
  const RedisServer server;  // as durable as Redis can be
  const RedisTestBed bed(kFile, {}, server);
  const Ran fine = bed.semel({"doctor"});
  EXPECT_EQ(fine.code, 0) << fine.out << fine.err;
  EXPECT_NE(fine.out.find("[ok  ] D101  redis 127.0.0.1:"), std::string::npos) << fine.out;
  EXPECT_NE(fine.out.find("[ok  ] D131  appendfsync = always"), std::string::npos) << fine.out;
  EXPECT_NE(fine.out.find("payments: at_least_once; effect at least once; nothing is lost"),
            std::string::npos)
      << fine.out;
  server.query("CONFIG SET appendfsync everysec");
  const Ran risky = bed.semel({"doctor"});
  EXPECT_EQ(risky.code, 1) << risky.out;
  EXPECT_NE(risky.out.find("[fail] D131  appendfsync = everysec: a crash of the machine may forget "
                           "the last second: then the work runs again"),
            std::string::npos)
      << risky.out;
  const Ran run = bed.semel({"run", "--once", "--set", "consumers[0].source={queue: {}}"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(count_of(run.err, "warning[D131] store: appendfsync = everysec"), 1U) << run.err;
}

// Neither before anything has run, nor after.
TEST(RedisProgram, DoctorAndADryRunLeaveNothingBehind) {
  const RedisServer server({.arguments = {"--enable-debug-command", "yes"}});
  const RedisTestBed bed(kFile, {}, server);
  bed.lines(0, 3);
  const auto expect_nothing_written = [&] {
    const std::string before = server.query("DEBUG DIGEST");
    for (const Words& words : {Words{"doctor"}, Words{"run", "--once", "--dry-run"}}) {
      const Ran ran = bed.semel(words);
      EXPECT_NE(ran.out, "") << ran.err;
      EXPECT_EQ(ran.out.find("[fail] D101"), std::string::npos) << ran.out;
      EXPECT_EQ(server.query("DEBUG DIGEST"), before) << words.front();
    }
  };
  expect_nothing_written();
  ASSERT_EQ(server.query("DBSIZE"), "0");
  ASSERT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  ASSERT_EQ(bed.calls().size(), 3U);
  bed.lines(3, 5);
  expect_nothing_written();
  ASSERT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(bed.calls().size(), 5U);
}

TEST(RedisProgram, AServerThatEvictsIsRefusedUnlessThatIsAccepted) {
  const RedisServer server({.arguments = {"--maxmemory", "64mb", "--maxmemory-policy",
                                          "allkeys-lru", "--appendfsync", "no"}});
  const RedisTestBed bed(kQueue, {}, server);
  for (const Words& words : {Words{"run", "--once"}, Words{"doctor"}, Words{"store", "stats"}}) {
    const Ran ran = bed.semel(words);
    EXPECT_EQ(ran.code, 78) << ran.err;
    EXPECT_NE(ran.err.find("error[R265]"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("maxmemory-policy noeviction"), std::string::npos) << ran.err;
  }
  const Ran accepted = bed.semel({"doctor", "--set", "store.redis.accept=eviction"});
  EXPECT_EQ(accepted.code, 1);
  EXPECT_NE(accepted.out.find("[fail] D131  maxmemory-policy = allkeys-lru"), std::string::npos)
      << accepted.out << accepted.err;
  for (const Words& words :
       {Words{"run", "--once"}, Words{"dlq", "list"}, Words{"dlq", "show", "1"},
        Words{"dlq", "replay", "1"}, Words{"send", "payments", "{}"}}) {
    Words more = words;
    more.insert(more.end(), {"--set", "store.redis.accept=eviction"});
    const Ran ran = bed.semel(more);
    EXPECT_EQ(ran.code, 78) << words.front() << ran.err;
    EXPECT_NE(ran.err.find("error[R267]"), std::string::npos) << words.front() << ran.err;
  }
  server.query("CONFIG SET maxmemory-policy volatile-ttl");
  EXPECT_EQ(bed.semel({"send", "payments", payment("p-1", 1, 5), "-q", "--set",
                       "store.redis.accept=eviction"})
                .code,
            0);
}

TEST(RedisProgram, AWrongPasswordIsForAPersonToMendAndAnAbsentServerForPatience) {
  RedisServer server(
      {.arguments = {"--user", "ann", "on", ">right", "~*", "+@all", "--appendfsync", "no"}});
  const RedisTestBed bed(kQueue, {}, server);
  const auto url = [&](const std::string& account) {
    return fmt::format("redis://{}@127.0.0.1:{}/0", account, server.port());
  };
  EXPECT_EQ(bed.semel_at(url("ann:right"), {"run", "--once", "-q"}).code, 0);
  const Ran wrong = bed.semel_at(url("ann:hunter2"), {"run", "--once"});
  EXPECT_EQ(wrong.code, 78) << wrong.err;
  EXPECT_NE(wrong.err.find("error[R251]"), std::string::npos) << wrong.err;
  EXPECT_EQ(wrong.err.find("hunter2"), std::string::npos) << wrong.err;
  server.stop();
  for (const Words& words : {Words{"run", "--once"}, Words{"records", "list"}}) {
    const Ran away = bed.semel(words);
    EXPECT_EQ(away.code, 69) << away.err;
    EXPECT_NE(away.err.find("error[R250]"), std::string::npos) << away.err;
  }
}

// The example of docs/stores/redis.md.
TEST(RedisProgram, TheExampleRunsAsItStands) {
  const std::string file = input("tests/cli/redis/semel.yaml");
  // A prefix is the example's own: so is the server.
  const RedisServer server(RedisServer::fast());
  const StartOptions options = {.environment = {"REDIS_URL=" + server.url()}};
  const auto semel = [&](Words words) {
    words.insert(words.end(), {"-c", file});
    return run(words, options);
  };
  EXPECT_EQ(semel({"check"}).code, 0) << semel({"check"}).out;
  EXPECT_EQ(semel({"send", "payments", payment("p-1", 1, 5), "-q"}).code, 0);
  const Program watching({"run", "-c", file, "-q"}, options);
  EXPECT_TRUE(comes_true([&] {
    return json_at(semel({"records", "show", "p-1", "-o", "json"}).out, "/records/0/state") ==
           "completed";
  }));
  const std::string pids = json_at(semel({"status", "-o", "json"}).out, "/running_pids/0");
  EXPECT_EQ(pids, std::to_string(watching.pid()));
}

TEST(RedisProgram, WhatOtherStoresMakeIsThereAlready) {
  const RedisTestBed bed(kQueue);
  const Ran made = bed.semel({"store", "init"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("ready, schema 1"), std::string::npos) << made.out;
  const Ran migrated = bed.semel({"store", "migrate", "--dry-run"});
  EXPECT_EQ(migrated.code, 0) << migrated.err;
  EXPECT_NE(migrated.err.find("schema 1, up to date"), std::string::npos) << migrated.err;
  const Ran status = bed.semel({"status"});
  EXPECT_EQ(status.code, 0) << status.err;
  EXPECT_NE(status.out.find("at_least_once"), std::string::npos) << status.out;
}

}  // namespace
}  // namespace semel::test
