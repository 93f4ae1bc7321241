// The program on a Redis Cluster.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/cli/program.h"
#include "tests/support/redis_cluster.h"

namespace semel::test {
namespace {

const RedisCluster& cluster() { return RedisCluster::shared(); }

// A folder with a config over a prefix of its own, and a script that is the handler.
class ClusterTestBed {
 public:
  ClusterTestBed() {
    write_file(config(), fmt::format("version: 1\n"
                                     "store: {{ redis: {{ url: \"{}\", prefix: \"{}\" }} }}\n"
                                     "consumers:\n"
                                     "  - name: payments\n"
                                     "    source: {{ queue: {{}} }}\n"
                                     "    key: json:/id\n"
                                     "    retry: {{ backoff: 1ms..5ms }}\n"
                                     "    handler: {{ exec: [./handler.sh] }}\n",
                                     cluster().url(), prefix_));
    write_file(file("handler.sh"),
               fmt::format("#!/bin/sh\ncd '{}'\ncat > /dev/null\n"
                           "echo \"$SEMEL_KEY\" >> calls.txt\n"
                           "case $SEMEL_KEY in\n"
                           "  *3) [ \"$SEMEL_ATTEMPT\" -gt 2 ] || exit 75;;\n"
                           "  *7) [ -e mended ] || {{ echo 'no such account' >&2; exit 65; }};;\n"
                           "esac\n",
                           file("")));
    std::filesystem::permissions(file("handler.sh"), std::filesystem::perms::owner_all);
  }

  std::map<std::string, int> calls() const {
    std::map<std::string, int> counted;
    std::ifstream stream(file("calls.txt"));
    for (std::string key; std::getline(stream, key);) ++counted[key];
    return counted;
  }
  // As where a failover lost them, or a forget was stopped before their messages went too.
  void lose_records() const {
    const std::string script =
        "for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '{??}*')) do "
        "if not string.find(key, '}token', 1, true) then redis.call('DEL', key) end end";
    for (const int master : cluster().masters()) {
      cluster().run_at(master, {"EVAL", script, "0", prefix_});
    }
  }
  std::string file(std::string_view name) const { return folder_.file(name); }
  std::string config() const { return file("semel.yaml"); }
  Ran semel(Words words, const StartOptions& options = {}) const {
    words.insert(words.end(), {"-c", config()});
    return run(words, options);
  }
  std::string shown(const std::string& key, const std::string& what) const {
    return json_at(semel({"records", "show", key, "-o", "json"}).out, "/records/0/" + what);
  }

 private:
  const std::string prefix_ = cluster().new_prefix();
  TempDir folder_;
};

TEST(RedisClusterProgram, RunsAndIsLookedAtAndMended) {
  const ClusterTestBed bed;
  std::string sent;
  for (int i = 0; i < 50; ++i) sent += fmt::format("{{\"id\":\"p-{}\"}}\n", i);
  const Ran put = bed.semel({"send", "payments", "-", "-q"}, {.input = sent});
  ASSERT_EQ(put.code, 0) << put.err;
  const Ran ran = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(bed.calls().size(), 50U);
  EXPECT_EQ(bed.calls()["p-3"], 3);
  EXPECT_EQ(bed.shown("p-3", "state"), "completed");
  const Ran listed = bed.semel({"records", "list", "-o", "json"});
  EXPECT_EQ(json_at(listed.out, "/records/4/state"), "dead") << listed.out << listed.err;
  EXPECT_EQ(json_at(listed.out, "/records/5/key"), "(absent)");
  const Ran stats = bed.semel({"store", "stats", "-o", "json"});
  EXPECT_EQ(json_at(stats.out, "/generations/0/records"), "45") << stats.out << stats.err;
  const Ran letters = bed.semel({"dlq", "list", "-o", "json"});
  EXPECT_EQ(json_at(letters.out, "/count"), "5") << letters.err;

  write_file(bed.file("mended"), "");
  const Ran unlocked = bed.semel({"records", "unlock", "p-7", "--yes"});
  EXPECT_EQ(unlocked.code, 0) << unlocked.err;
  const Ran replayed = bed.semel({"dlq", "replay", "--all", "--yes"});
  EXPECT_EQ(replayed.code, 0) << replayed.out << replayed.err;
  EXPECT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  for (const char* key : {"p-7", "p-17", "p-47"}) {
    EXPECT_EQ(bed.shown(key, "state"), "completed") << key;
    EXPECT_EQ(bed.calls()[key], 2) << key;
  }
  const Ran forgotten = bed.semel({"records", "forget", "p-0", "--yes"});
  EXPECT_EQ(forgotten.code, 0) << forgotten.err;
  EXPECT_EQ(bed.shown("p-0", "state"), "(absent)");
  const Ran verified = bed.semel({"store", "verify", "--full"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
}

TEST(RedisClusterProgram, AMessageWhoseRecordIsGoneIsForgottenByItsKey) {
  const ClusterTestBed bed;
  const Ran put = bed.semel({"send", "payments", "-", "-q"}, {.input = "{\"id\":\"p-7\"}\n"});
  ASSERT_EQ(put.code, 0) << put.err;
  EXPECT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  ASSERT_EQ(bed.semel({"records", "unlock", "p-7", "--yes"}).code, 0);
  bed.lose_records();
  EXPECT_EQ(bed.shown("p-7", "state"), "retrying");
  EXPECT_EQ(bed.shown("p-7", "reason"), "its record is gone");
  const Ran forgotten = bed.semel({"records", "forget", "p-7", "--yes"});
  EXPECT_EQ(forgotten.code, 0) << forgotten.out << forgotten.err;
  EXPECT_EQ(bed.shown("p-7", "state"), "(absent)");
  EXPECT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(bed.calls()["p-7"], 1) << "it was forgotten";
}

// A replica that stands still for longer than it is waited for leaves a call in doubt, which is
// said and made again.
TEST(RedisClusterProgram, WhatItSaysMayWaitForReplicas) {
  const ClusterTestBed bed;
  const Words waiting = {"--set", "store.redis.wait_replicas=1"};
  const auto with = [&](Words words) {
    words.insert(words.end(), waiting.begin(), waiting.end());
    return bed.semel(words);
  };
  EXPECT_TRUE(comes_true([&] {
    const Ran sent = with({"send", "payments", "{\"id\":\"p-1\"}", "-q"});
    EXPECT_TRUE(sent.code == 0 || sent.err.find("R268") != std::string::npos) << sent.err;
    return sent.code == 0;
  }));
  EXPECT_TRUE(comes_true([&] {
    (void)with({"run", "--once", "-q"});
    return bed.shown("p-1", "state") == "completed";
  })) << bed.shown("p-1", "state");
  EXPECT_GE(bed.calls()["p-1"], 1);
}

TEST(RedisClusterProgram, TheDoctorTellsOfEachMaster) {
  const ClusterTestBed bed;
  const Ran doctor = bed.semel({"doctor"});
  for (const int port : cluster().masters()) {
    EXPECT_NE(doctor.out.find(fmt::format("127.0.0.1:{}", port)), std::string::npos)
        << doctor.out << doctor.err;
  }
}

TEST(RedisClusterProgram, ANumberedDatabaseIsRefused) {
  const ClusterTestBed bed;
  const Ran ran =
      bed.semel({"run", "--once", "--set", "store.redis.url=" + cluster().url() + "/3"});
  EXPECT_EQ(ran.code, 78) << ran.err;
  EXPECT_NE(ran.err.find("error[R264]"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace semel::test
