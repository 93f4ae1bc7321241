// A window in front of the records of a store on a server, in the real program: whatever becomes of
// the window, of the store and of the records, each message has its effects as often as it should.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cli/program.h"
#include "tests/cli/server_test_bed.h"
#include "tests/cli/window.h"
#include "tests/support/redis_server.h"

namespace semel::test {
namespace {

using Effects = std::map<std::string, int>;

constexpr int kSome = 10;

struct FrontStore {
  std::string name;
  std::string store;  // as in `store:`
  const DatabaseServer& (*shared)();
  std::unique_ptr<DatabaseServer> (*own)();

  bool has_tables() const { return store != "redis"; }
};

std::ostream& operator<<(std::ostream& out, const FrontStore& store) { return out << store.name; }

std::vector<FrontStore> front_stores() {
  std::vector<FrontStore> stores;
  for (const ServerKind& kind : server_kinds()) {
    stores.push_back({name_of_kind(kind), std::string(kind.store), kind.shared, kind.own});
  }
  stores.push_back({"Redis", "redis",
                    []() -> const DatabaseServer& { return RedisServer::shared(); },
                    []() -> std::unique_ptr<DatabaseServer> {
                      return std::make_unique<RedisServer>(RedisServer::fast());
                    }});
  return stores;
}

std::string in_memory() { return "{ memory: {}, ttl: 1h }"; }
std::string in_redis(const RedisServer& server) {
  return fmt::format("{{ redis: {{ url: \"{}\", prefix: \"{}\", timeout: 5s }}, ttl: 1h }}",
                     server.url(), server.new_database() + ":");
}

// A consumer behind a window that reads files, and the account of what each message came to: a
// table beside the records, or a file where the store has no tables.
class FrontedTestBed {
 public:
  FrontedTestBed(const FrontStore& store, const DatabaseServer& server, std::string_view front)
      : has_tables_(store.has_tables()), server_(server), database_(server.new_database()) {
    const std::string place =
        has_tables_ ? fmt::format("url: \"{}\"", server.url(database_))
                    : fmt::format("url: \"{}\", prefix: \"{}:\"", server.url({}), database_);
    write_file(config(),
               fmt::format("version: 1\n"
                           "store: {{ {}: {{ {} }} }}\n"
                           "consumers:\n"
                           "  - name: payments\n"
                           "    source: {{ file: {{ path: in.jsonl }} }}\n"
                           "    key: json:/id\n"
                           "    strategy: {}\n"
                           "    retry: {{ backoff: 10ms..100ms }}\n"
                           "    front: {}\n"
                           "    handler:\n{}",
                           store.store, place, has_tables_ ? "dedup_table" : "state_machine", front,
                           handler()));
    if (has_tables_) {
      server_.query(database_, "CREATE TABLE effect(id VARCHAR(40) NOT NULL)");
    }
    for (const char* name : {"in.jsonl", "other.jsonl"}) std::ofstream(file(name)).flush();
  }

  std::string config() const { return file("semel.yaml"); }
  // Messages with these numbers.
  void add(int from, int to, std::string_view name = "in.jsonl") const {
    std::ofstream stream(file(name), std::ios::app);
    for (int i = from; i < to; ++i) stream << fmt::format("{{\"id\":\"p-{}\"}}\n", i);
  }
  Effects effects() const {
    Effects counted;
    if (has_tables_) {
      std::istringstream rows(
          server_.query(database_, "SELECT id, count(*) FROM effect GROUP BY id"));
      for (std::string row; std::getline(rows, row);) {
        const auto cut = row.find('|');
        counted[row.substr(0, cut)] = std::stoi(row.substr(cut + 1));
      }
      return counted;
    }
    std::ifstream stream(file("calls.txt"));
    for (std::string key; std::getline(stream, key);) ++counted[key];
    return counted;
  }
  // A figure of the window, as `semel status` has it of one of the processes.
  std::string told_of_window(int process, std::string_view name) const {
    const std::string status = semel({"status", "-o", "json"}).out;
    for (int i = 0;; ++i) {
      const std::string at = fmt::format("/consumers/0/windows/{}/figures/{}/", process, i);
      const std::string found = json_at(status, at + "name");
      if (found == name) return json_at(status, at + "value");
      if (found == "(absent)") return "not in " + status;
    }
  }
  Ran semel(Words words) const {
    words.insert(words.end(), {"-c", config()});
    return run(words);
  }

 private:
  std::string file(std::string_view name) const { return folder_.file(name); }
  std::string handler() const {
    if (has_tables_) {
      return "      sql:\n"
             "        params: { id: json:/id }\n"
             "        statements: [ INSERT INTO effect (id) VALUES (:id) ]\n";
    }
    const std::string script = file("handler.sh");
    write_file(script, fmt::format("#!/bin/sh\ncat > /dev/null\necho \"$SEMEL_KEY\" >> '{}'\n",
                                   file("calls.txt")));
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    return fmt::format("      exec: [\"{}\"]\n", script);
  }

  const bool has_tables_;
  const DatabaseServer& server_;
  const std::string database_;
  TempDir folder_;
};

// One process, and how its deliveries ended.
class FrontedRun {
 public:
  explicit FrontedRun(const FrontedTestBed& bed, const Words& more = {})
      : program_(words(bed, more)) {}

  const Program& program() const { return program_; }
  std::string said() const { return program_.out() + program_.err(); }
  std::size_t done() const { return endings_of(program_).done; }
  std::size_t by_window() const { return endings_of(program_).by_window; }
  std::size_t by_record() const { return endings_of(program_).by_record; }
  std::size_t times_store_away() const { return count_of(program_.err(), "store: error"); }
  std::size_t times_store_back() const { return count_of(program_.err(), "store works again"); }
  // So many have ended.
  bool ends(std::size_t count) const {
    return comes_true([&] { return endings_of(program_).all() >= count; });
  }
  void stop() {
    program_.signal(SIGTERM);
    const Ran ran = program_.wait();
    EXPECT_EQ(ran.code, 0) << ran.err;
  }

 private:
  static Words words(const FrontedTestBed& bed, const Words& more) {
    Words all = {"run", bed.config(), "-v"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  Program program_;
};

bool window_answers_for(const FrontedTestBed& bed, const FrontedRun& run, int from, int to) {
  return window_answers(run.program(), static_cast<std::size_t>(to - from),
                        [&] { bed.add(from, to); });
}

Effects once_each(int count) {
  Effects wanted;
  for (int i = 0; i < count; ++i) wanted[fmt::format("p-{}", i)] = 1;
  return wanted;
}

struct FrontCase {
  FrontStore store;
  bool redis;  // the window; else in memory
};

std::ostream& operator<<(std::ostream& out, const FrontCase& one) {
  return out << one.store.name << (one.redis ? " behind Redis" : " behind memory");
}

std::vector<FrontCase> front_cases() {
  std::vector<FrontCase> cases;
  for (const FrontStore& store : front_stores()) {
    for (const bool redis : {false, true}) cases.push_back({store, redis});
  }
  return cases;
}

class ServerBehindWindow : public testing::TestWithParam<FrontCase> {
 protected:
  static std::string front() {
    return GetParam().redis ? in_redis(RedisServer::shared()) : in_memory();
  }
};

TEST_P(ServerBehindWindow, AForgottenRecordIsHandledAgainAndNoOther) {
  const FrontedTestBed bed(GetParam().store, GetParam().store.shared(), front());
  bed.add(0, kSome);
  FrontedRun run(bed);
  ASSERT_TRUE(run.ends(kSome)) << run.said();
  ASSERT_TRUE(window_answers_for(bed, run, 0, kSome)) << run.said();
  EXPECT_EQ(bed.effects(), once_each(kSome));
  const std::string answered = std::to_string(run.by_window());
  EXPECT_TRUE(comes_true([&] { return bed.told_of_window(0, "answered") == answered; }))
      << bed.told_of_window(0, "answered");

  const Ran forgotten = bed.semel({"records", "forget", "p-1", "-y"});
  EXPECT_EQ(forgotten.code, 0) << forgotten.err;
  bed.add(0, kSome);
  Effects wanted = once_each(kSome);
  wanted["p-1"] = 2;
  EXPECT_TRUE(comes_true([&] { return bed.effects() == wanted; })) << run.said();
  EXPECT_TRUE(window_answers_for(bed, run, 0, kSome)) << run.said();
  run.stop();
  EXPECT_EQ(bed.effects(), wanted);
}

TEST_P(ServerBehindWindow, TheStoreIsKilledAndComesBack) {
  const auto server = GetParam().store.own();
  const FrontedTestBed bed(GetParam().store, *server, front());
  bed.add(0, kSome);
  FrontedRun run(bed);
  ASSERT_TRUE(run.ends(kSome)) << run.said();
  ASSERT_TRUE(window_answers_for(bed, run, 0, kSome)) << run.said();
  for (int more = 1; more <= 2; ++more) {
    const std::size_t before = run.times_store_away();
    server->kill();
    // Known ones and a new one.
    bed.add(0, kSome + more);
    EXPECT_TRUE(comes_true([&] { return run.times_store_away() > before; })) << run.said();
    server->start();
    EXPECT_TRUE(comes_true([&] { return run.times_store_back() == run.times_store_away(); }))
        << run.said();
    const auto wanted = static_cast<std::size_t>(kSome + more);
    EXPECT_TRUE(comes_true([&] { return bed.effects().size() == wanted; })) << run.said();
    EXPECT_TRUE(window_answers_for(bed, run, 0, kSome + more)) << run.said();
  }
  run.stop();
  EXPECT_EQ(bed.effects(), once_each(kSome + 2));
}

INSTANTIATE_TEST_SUITE_P(Stores, ServerBehindWindow, testing::ValuesIn(front_cases()),
                         [](const auto& info) {
                           return info.param.store.name + (info.param.redis ? "Redis" : "Memory");
                         });

class ServerBehindRedisWindow : public testing::TestWithParam<FrontStore> {};

TEST_P(ServerBehindRedisWindow, FlushedAndKilledInMidRunItOnlyForgets) {
  RedisServer window(RedisServer::fast());
  const FrontedTestBed bed(GetParam(), GetParam().shared(), in_redis(window));
  bed.add(0, kSome);
  FrontedRun run(bed);
  ASSERT_TRUE(run.ends(kSome)) << run.said();
  ASSERT_TRUE(window_answers_for(bed, run, 0, kSome)) << run.said();

  window.query("FLUSHALL");
  const std::size_t before = run.by_record();
  bed.add(0, kSome);
  ASSERT_TRUE(comes_true([&] { return run.by_record() >= before + kSome; })) << run.said();
  EXPECT_TRUE(window_answers_for(bed, run, 0, kSome)) << run.said();

  window.kill();
  bed.add(0, 2 * kSome);
  EXPECT_TRUE(comes_true([&] { return bed.effects().size() == 2 * kSome; })) << run.said();
  EXPECT_TRUE(tells(run.program(), "front window:")) << run.said();
  window.start();
  EXPECT_TRUE(tells(run.program(), "front window works again")) << run.said();
  EXPECT_TRUE(window_answers_for(bed, run, 0, 2 * kSome)) << run.said();
  run.stop();
  EXPECT_EQ(bed.effects(), once_each(2 * kSome));
  EXPECT_EQ(count_of(run.program().err(), "front window:"), 1U) << run.said();
}

TEST_P(ServerBehindRedisWindow, WhatOneProcessCompletedAnotherIsAnswered) {
  const FrontedTestBed bed(GetParam(), GetParam().shared(), in_redis(RedisServer::shared()));
  FrontedRun one(bed);
  FrontedRun two(bed, {"--set", "consumers[0].source.file.path=other.jsonl"});
  // The second one's beginning made the window forget, and the first one hears of it within a
  // second: new messages each time, which the second one never asked the store about.
  int sent = 0;
  ASSERT_TRUE(comes_true([&] {
    const std::size_t done = one.done();
    bed.add(sent, sent + kSome);
    if (!comes_true([&] { return one.done() == done + kSome; })) return false;
    const std::size_t windows = two.by_window();
    const std::size_t ended = windows + two.by_record();
    bed.add(sent, sent + kSome, "other.jsonl");
    sent += kSome;
    return two.ends(ended + kSome) && two.by_window() == windows + kSome;
  })) << one.said()
      << two.said();

  const Ran forgotten = bed.semel({"records", "forget", "p-0", "-y"});
  EXPECT_EQ(forgotten.code, 0) << forgotten.err;
  bed.add(0, kSome, "other.jsonl");
  EXPECT_TRUE(comes_true([&] { return two.done() == 1; })) << two.said();
  EXPECT_TRUE(window_answers_for(bed, one, 0, kSome)) << one.said();
  one.stop();
  two.stop();
  Effects wanted = once_each(sent);
  wanted["p-0"] = 2;
  EXPECT_EQ(bed.effects(), wanted);
}

INSTANTIATE_TEST_SUITE_P(Stores, ServerBehindRedisWindow, testing::ValuesIn(front_stores()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace semel::test
