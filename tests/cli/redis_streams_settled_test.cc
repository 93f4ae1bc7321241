// A stream on the server of the store: an entry is acknowledged in the script that writes its
// record. A kill between the two is then no redelivery; elsewhere it is one, and a duplicate.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/cli/program.h"
#include "tests/support/redis_server.h"
#include "tests/support/redis_stream.h"
#include "tests/support/tcp_proxy.h"

namespace semel::test {
namespace {

class SettledTestBed {
 public:
  explicit SettledTestBed(const RedisServer& server, const std::string& store_url = {},
                          const std::string& source_url = {})
      : prefix_(server.new_database() + ":"),
        stream_([&server](const auto& words) { return server.run(words); }, prefix_ + "orders") {
    stream_.make_group();
    write_file(
        config(),
        fmt::format(
            "version: 1\n"
            "store: {{ redis: {{ url: \"{}\", prefix: \"{}\" }} }}\n"
            "consumers:\n"
            "  - name: orders\n"
            "    source:\n"
            "      redis_streams: {{ url: \"{}\", stream: \"{}\", group: {}, consumer: one, "
            "claim_after: 1s }}\n"
            "    key: json:/id\n"
            "    retry: {{ backoff: 1ms..5ms }}\n"
            "    handler: {{ exec: [./handler.sh] }}\n",
            store_url.empty() ? server.url() : store_url, prefix_,
            source_url.empty() ? server.url() : source_url, stream_.name(), RedisStream::group()));
    handle("true");
  }

  // `then`: the handler runs it once it has noted the key.
  void handle(std::string_view then) const {
    write_file(file("handler.sh"), fmt::format("#!/bin/sh\ncd '{}'\ncat > /dev/null\n"
                                               "echo \"$SEMEL_KEY\" >> calls.txt\n{}\n",
                                               file(""), then));
    std::filesystem::permissions(file("handler.sh"), std::filesystem::perms::owner_all);
  }
  void add(int from, int to) const {
    std::vector<std::string> payloads;
    for (int i = from; i < to; ++i) payloads.push_back(fmt::format("{{\"id\":\"o-{}\"}}", i));
    stream_.add(payloads);
  }
  const RedisStream& stream() const { return stream_; }
  std::size_t calls() const { return count_of(read_file(file("calls.txt")), "\n"); }
  std::size_t keys() const {
    std::map<std::string, int> counted;
    std::ifstream lines(file("calls.txt"));
    for (std::string key; std::getline(lines, key);) ++counted[key];
    return counted.size();
  }
  Ran semel(Words words, const StartOptions& options = {}) const {
    words.insert(words.end(), {"-c", config()});
    return run(words, options);
  }
  void killed_at(const std::string& failpoint) const {
    const Ran ran = semel({"run", "--once", "-q"}, {.failpoint = failpoint});
    EXPECT_EQ(ran.signal, SIGKILL) << "the fault did not happen: " << ran.code << ran.err;
  }
  Ran run_once() const { return semel({"run", "--once", "-o", "json", "-q"}); }
  std::string state(const std::string& key) const {
    return json_at(semel({"records", "show", key, "-o", "json"}).out, "/records/0/state");
  }
  std::string letters() const {
    return json_at(semel({"dlq", "list", "-o", "json"}).out, "/count");
  }
  std::string config() const { return file("semel.yaml"); }
  std::string file(std::string_view name) const { return folder_.file(name); }

 private:
  const std::string prefix_;
  const RedisStream stream_;
  TempDir folder_;
};

// A record that was in progress at a kill is busy for a while: its deliveries are not counted.
void expect_counts(const Ran& ran, const std::string& effects, const std::string& duplicates) {
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), effects) << ran.out;
  EXPECT_EQ(json_at(ran.out, "/duplicates"), duplicates) << ran.out;
}

void expect_nothing_comes(const Ran& ran) {
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/deliveries"), "0") << ran.out;
}

// Both are one server and one database, whatever the URLs say.
TEST(RedisStreamsSettled, WhatIsRecordedIsAcknowledgedWithItAndNeverComesAgain) {
  const RedisServer& server = RedisServer::shared();
  const std::string by_socket = "redis+unix://" + server.socket();
  for (const std::string& store_url : {server.url(), by_socket}) {
    SCOPED_TRACE(store_url);
    const SettledTestBed bed(server, store_url);
    bed.add(0, 1);
    bed.killed_at("commit.after:kill");
    EXPECT_EQ(bed.stream().pending(), 0);
    EXPECT_EQ(bed.calls(), 1U);
    expect_nothing_comes(bed.run_once());
    EXPECT_EQ(bed.state("o-0"), "completed");
  }
}

TEST(RedisStreamsSettled, TheDoctorSaysWhoAcknowledges) {
  RedisServer server(RedisServer::fast());
  server.run({"ACL", "SETUSER", "keeper", "on", ">word", "~*", "+@all", "-xack"});
  const std::string same = server.url();
  const std::string by_store = "acknowledged with their records";
  const std::string forbidden = "may not acknowledge";
  const auto doctor = [&](const std::string& store_url, const std::string& more = {}) {
    const SettledTestBed bed(server, store_url);
    write_file(bed.config(), read_file(bed.config()) + more);
    EXPECT_EQ(bed.semel({"store", "init", "-q"}).code, 0);
    return bed.semel({"doctor"}).out;
  };
  const std::string told = doctor(same);
  EXPECT_EQ(count_of(told, by_store), 1U) << told;
  EXPECT_EQ(count_of(told, forbidden), 0U) << told;
  const std::string elsewhere = doctor(same.substr(0, same.rfind('/')) + "/1");
  EXPECT_EQ(count_of(elsewhere, by_store) + count_of(elsewhere, forbidden), 0U) << elsewhere;
  std::string keeper = same;
  keeper.insert(keeper.find("//") + 2, "keeper:word@");
  const std::string refused = doctor(keeper);
  EXPECT_EQ(count_of(refused, by_store), 0U) << refused;
  EXPECT_EQ(count_of(refused, forbidden), 1U) << refused;
  EXPECT_EQ(count_of(refused, "word"), 0U) << refused;
  // It writes no record.
  for (const std::string& url : {same, keeper}) {
    const std::string natural = doctor(url, "    strategy: natural\n");
    EXPECT_EQ(count_of(natural, "pending"), 1U) << natural;
    EXPECT_EQ(count_of(natural, by_store) + count_of(natural, forbidden), 0U) << natural;
  }
}

TEST(RedisStreamsSettled, ElsewhereTheSameKillIsARedelivery) {
  const RedisServer& server = RedisServer::shared();
  const RedisServer other(RedisServer::fast());
  const std::string same = server.url();
  const std::string another_database = same.substr(0, same.rfind('/')) + "/1";
  for (const std::string& store_url : {another_database, other.url()}) {
    SCOPED_TRACE(store_url);
    const SettledTestBed bed(server, store_url);
    bed.add(0, 1);
    bed.killed_at("commit.after:kill");
    EXPECT_EQ(bed.stream().pending(), 1);
    expect_counts(bed.run_once(), "0", "1");
    EXPECT_EQ(bed.stream().pending(), 0);
    EXPECT_EQ(bed.calls(), 1U);
  }
}

TEST(RedisStreamsSettled, WhatIsNotRecordedStaysPending) {
  const SettledTestBed bed(RedisServer::shared());
  bed.add(0, 1);
  bed.killed_at("commit.before:kill");
  EXPECT_EQ(bed.stream().pending(), 1);
  EXPECT_EQ(bed.calls(), 1U);
  expect_counts(bed.run_once(), "1", "0");
  EXPECT_EQ(bed.calls(), 2U) << "an effect elsewhere is not known without its record";
  EXPECT_EQ(bed.stream().pending(), 0);
}

// Calls of many messages end together, and are recorded in batches.
TEST(RedisStreamsSettled, ABatchThatIsRecordedIsAcknowledgedWhole) {
  const SettledTestBed bed(RedisServer::shared());
  bed.add(0, 150);
  bed.killed_at("commit.after:kill:5");
  const std::int64_t open = bed.stream().pending() + bed.stream().unread();
  EXPECT_LT(open, 150);
  EXPECT_GT(open, 0);
  expect_counts(bed.run_once(), std::to_string(open), "0");
  EXPECT_TRUE(bed.stream().all_done());
  EXPECT_EQ(bed.keys(), 150U);
}

// The store keeps it from then on: the entry and the held message never are both there.
TEST(RedisStreamsSettled, ARetryIsAcknowledgedWhenTheStoreKeepsIt) {
  const SettledTestBed bed(RedisServer::shared());
  bed.handle("exit 75");
  bed.add(0, 1);
  bed.killed_at("commit.after:kill");
  EXPECT_EQ(bed.stream().pending(), 0);
  EXPECT_EQ(bed.state("o-0"), "retrying");
  bed.handle("true");
  expect_counts(bed.run_once(), "1", "0");
  EXPECT_EQ(bed.calls(), 2U);
  EXPECT_EQ(bed.state("o-0"), "completed");
}

TEST(RedisStreamsSettled, ADeadLetterIsAcknowledgedWithIt) {
  const SettledTestBed bed(RedisServer::shared());
  bed.handle("exit 65");
  bed.add(0, 1);
  bed.killed_at("commit.after:kill");
  EXPECT_EQ(bed.stream().pending(), 0);
  EXPECT_EQ(bed.state("o-0"), "dead");
  bed.stream().add({"no JSON"});
  bed.killed_at("commit.after:kill");
  EXPECT_EQ(bed.stream().pending(), 0);
  expect_nothing_comes(bed.run_once());
  EXPECT_EQ(bed.letters(), "2");
}

// A source that may not acknowledge would end the run.
TEST(RedisStreamsSettled, TheSourceHasNothingLeftToSay) {
  const RedisServer server(RedisServer::fast());
  server.run({"ACL", "SETUSER", "reader", "on", ">word", "~*", "+@all", "-xack"});
  std::string reader = server.url();
  reader.insert(reader.find("//") + 2, "reader:word@");
  const SettledTestBed bed(server, {}, reader);
  bed.add(0, 100);
  expect_counts(bed.run_once(), "100", "0");
  EXPECT_TRUE(bed.stream().all_done());
}

// It may not acknowledge: the source does, as on any other store.
TEST(RedisStreamsSettled, AStoreWithoutTheRightLeavesItToTheSource) {
  const RedisServer server(RedisServer::fast());
  server.run({"ACL", "SETUSER", "keeper", "on", ">word", "~*", "+@all", "-xack"});
  std::string keeper = server.url();
  keeper.insert(keeper.find("//") + 2, "keeper:word@");
  const SettledTestBed bed(server, keeper);
  bed.add(0, 20);
  expect_counts(bed.run_once(), "20", "0");
  EXPECT_TRUE(bed.stream().all_done());
  bed.add(20, 21);
  bed.killed_at("commit.after:kill");
  EXPECT_EQ(bed.stream().pending(), 1);
  expect_counts(bed.run_once(), "0", "1");
  EXPECT_TRUE(bed.stream().all_done());
}

// Both connect again, and prove anew that they are on one server.
TEST(RedisStreamsSettled, HoldsAgainAfterTheServerHasStartedAnew) {
  RedisServer server(RedisServer::fast());
  const SettledTestBed bed(server);
  bed.add(0, 10);
  Program runner({"run", "-c", bed.config()});
  EXPECT_TRUE(comes_true([&] { return bed.calls() == 10 && bed.stream().all_done(); }))
      << runner.err();
  server.kill();
  EXPECT_TRUE(tells(runner, "R250")) << runner.err();
  server.start();
  bed.add(10, 20);
  EXPECT_TRUE(comes_true([&] { return bed.calls() == 20 && bed.stream().all_done(); },
                         std::chrono::seconds(60)))
      << runner.err();
  EXPECT_EQ(count_of(runner.err(), "no longer pending"), 0U) << runner.err();
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  EXPECT_EQ(bed.calls(), 20U);
  bed.add(20, 21);
  bed.killed_at("commit.after:kill");
  EXPECT_EQ(bed.stream().pending(), 0);
  expect_nothing_comes(bed.run_once());
}

// As a failover loses them. Source and store are on one server, by two ways: the source hears
// nothing until the server that lost them is there.
TEST(RedisStreamsSettled, WhatTheServerLosesComesAgain) {
  RedisServer server({.arguments = {"--appendonly", "no"}});
  TcpProxy proxy(server.address().port);
  const SettledTestBed bed(server, {}, fmt::format("redis://127.0.0.1:{}/0", proxy.port()));
  write_file(bed.config(), read_file(bed.config()) + "    dedup: { lease: 1s }\n");
  bed.handle("until [ -e go ]; do sleep 0.01; done");
  bed.add(0, 1);
  Program runner({"run", "-c", bed.config()});
  ASSERT_TRUE(comes_true([&] { return bed.calls() == 1; })) << runner.err();
  EXPECT_EQ(server.run({"SAVE"}), "OK");
  proxy.refuse(true);
  proxy.cut_all();
  ASSERT_TRUE(tells(runner, "R250")) << runner.err();
  write_file(bed.file("go"), "");
  ASSERT_TRUE(comes_true([&] { return bed.state("o-0") == "completed"; })) << runner.err();
  EXPECT_EQ(bed.stream().pending(), 0);
  server.kill();
  server.start();
  EXPECT_EQ(bed.stream().pending(), 1) << "as it was saved";
  EXPECT_EQ(bed.state("o-0"), "consuming");
  proxy.refuse(false);
  EXPECT_TRUE(comes_true([&] { return bed.state("o-0") == "completed"; })) << runner.err();
  EXPECT_TRUE(comes_true([&] { return bed.stream().all_done(); })) << runner.err();
  EXPECT_EQ(bed.calls(), 2U);
}

}  // namespace
}  // namespace semel::test
