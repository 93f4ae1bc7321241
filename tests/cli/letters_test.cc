// The operator's view of messages that ended badly: reasons, causes, parked and replayed ones.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "tests/cli/program.h"

namespace semel::test {
namespace {

constexpr std::string_view kLongError =
    "the gateway said that it would rather not do this today, nor on any other day of this week";

// Two consumers of one queue's worth of messages each; their command fails until `mended` is there.
class LettersTest : public ::testing::Test {
 protected:
  LettersTest() : bed_(consumer()) {
    write_file(bed_.file("other.yaml"),
               fmt::format("store: {{ sqlite: {{ path: {} }} }}\nconsumers:\n  - name: others\n{}",
                           bed_.database(), consumer()));
  }
  std::string consumer() const {
    return fmt::format(
        "    source: {{ queue: {{}} }}\n"
        "    key: json:/id\n"
        "    strategy: state_machine\n"
        "    retry: {{ attempts: 1 }}\n"
        "    handler: {{ exec: {{ command: [/bin/sh, -c, \"test -f {} || {{ echo {} >&2; exit 3; "
        "}}\"] }} }}\n",
        folder_.file("mended"), kLongError);
  }
  void handle(const Words& sends, const std::string& config) {
    for (const std::string& id : sends) {
      const std::string name = config == bed_.config() ? "payments" : "others";
      const Ran sent = run({"send", name, "-c", config, fmt::format(R"({{"id":"{}"}})", id)});
      ASSERT_EQ(sent.code, 0) << sent.err;
    }
    work(config);
  }
  void work(const std::string& config) {
    const Ran ran = run({"run", "--once", "-q", "-c", config});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  void mend() { write_file(folder_.file("mended"), ""); }
  std::string count(Words words) const {
    words.insert(words.begin(), {"dlq", "list", "-o", "json"});
    return json_at(bed_.semel(words).out, "/count");
  }
  std::string other() const { return bed_.file("other.yaml"); }

  TempDir folder_;
  TestBed bed_;
};

TEST_F(LettersTest, TheCauseOfTheLastTryIsShownAndFound) {
  handle({"a"}, bed_.config());
  const Ran listed = bed_.semel({"dlq", "list", "-o", "json"});
  EXPECT_EQ(json_at(listed.out, "/dead_letters/0/reason"), "attempts.exhausted");
  EXPECT_EQ(json_at(listed.out, "/dead_letters/0/cause"), "handler.exec.3");
  EXPECT_EQ(count({"--where", "reason=handler.exec.3"}), "1");
  EXPECT_EQ(count({"--reason", "handler.exec.3"}), "1");
  EXPECT_EQ(count({"--where", "reason=attempts.exhausted"}), "1");
  EXPECT_EQ(count({"--where", "reason=handler.exec.4"}), "0");
  const Ran records =
      bed_.semel({"records", "list", "-o", "json", "--where", "reason=handler.exec.3"});
  EXPECT_EQ(json_at(records.out, "/records/0/cause"), "handler.exec.3") << records.out;
  EXPECT_EQ(bed_.semel({"dlq", "replay", "--yes", "--where", "reason=handler.exec.3"}).code, 0);
  EXPECT_EQ(bed_.semel({"dlq", "discard", "--yes", "--where", "reason=handler.exec.3"}).code, 0);
  EXPECT_EQ(count({}), "0");
}

TEST_F(LettersTest, AnErrorIsWholeWhereStdoutIsAPipe) {
  handle({"a"}, bed_.config());
  for (const char* family : {"dlq", "records"}) {
    const Ran listed = bed_.semel({family, "list"});
    EXPECT_NE(listed.out.find(kLongError), std::string::npos) << listed.out;
  }
}

TEST_F(LettersTest, AReplayedOneThatIsDoneLeavesTheList) {
  handle({"a", "b"}, bed_.config());
  ASSERT_EQ(count({}), "2");
  EXPECT_EQ(bed_.semel({"dlq", "replay", "--where", "key=b", "--yes"}).code, 0);
  work(bed_.config());
  EXPECT_EQ(count({}), "2") << "it failed again";
  mend();
  EXPECT_EQ(bed_.semel({"dlq", "replay", "--where", "key=a", "--yes"}).code, 0);
  EXPECT_EQ(count({}), "2") << "it is not done yet";
  work(bed_.config());
  EXPECT_EQ(count({}), "1");
  const Ran listed = bed_.semel({"dlq", "list"});
  EXPECT_NE(listed.err.find("1 replayed and done: --replayed"), std::string::npos) << listed.err;
  const Ran done = bed_.semel({"dlq", "list", "--replayed", "-o", "json"});
  EXPECT_EQ(json_at(done.out, "/count"), "1");
  EXPECT_EQ(json_at(done.out, "/dead_letters/0/key"), "a");
  const Ran plan = bed_.semel({"dlq", "replay", "--all", "--dry-run", "-o", "json"});
  EXPECT_EQ(json_at(plan.out, "/matched"), "1") << plan.out;
  EXPECT_EQ(bed_.semel({"dlq", "discard", "--replayed", "--yes"}).code, 0);
  EXPECT_EQ(count({"--replayed"}), "0");
  EXPECT_EQ(count({}), "1");
}

TEST_F(LettersTest, AllMeansTheConfigsConsumers) {
  handle({"a"}, bed_.config());
  handle({"b", "c"}, other());
  EXPECT_EQ(count({}), "1");
  EXPECT_EQ(count({"--consumer", "others"}), "2") << "it is named";
  EXPECT_EQ(count({"--where", "consumer=others"}), "2");
  const Ran listed = bed_.semel({"dlq", "list"});
  EXPECT_NE(listed.err.find("2 of consumers that are not in the config"), std::string::npos)
      << listed.err;
  const Ran gone = bed_.semel({"dlq", "discard", "--all", "--yes", "-o", "json"});
  EXPECT_EQ(json_at(gone.out, "/discarded"), "1") << gone.out;
  EXPECT_EQ(count({"--consumer", "others"}), "2");
}

TEST_F(LettersTest, AReasonOrAConsumerAloneChooses) {
  handle({"a", "b"}, bed_.config());
  EXPECT_EQ(bed_.semel({"dlq", "replay", "--reason", "key.conflict", "--yes"}).code, 4);
  const Ran replayed =
      bed_.semel({"dlq", "replay", "--reason", "handler.exec.3", "--yes", "-o", "json"});
  EXPECT_EQ(json_at(replayed.out, "/replayed"), "2") << replayed.out << replayed.err;
  const Ran gone = bed_.semel({"dlq", "discard", "--consumer", "payments", "--yes", "-o", "json"});
  EXPECT_EQ(json_at(gone.out, "/discarded"), "2") << gone.out << gone.err;
}

TEST_F(LettersTest, WhatChoosesNothingIsRefusedWithItsFix) {
  handle({"a"}, bed_.config());
  struct Row {
    Words words;
    const char* said;
    const char* fix;
  };
  for (const Row& row :
       {Row{{}, "say which dead letters: their ids, or a filter", "--reason REASON"},
        Row{{"--limit", "1"}, "say which dead letters", "--all"},
        Row{{"1", "--reason", "mended"}, "ids and a filter do not go together", "--why"},
        Row{{"--reason", ""}, "--reason: it is empty", "--help"},
        Row{{"--all", "--consumer", ""}, "--consumer: it is empty", "--help"}}) {
    Words words = {"dlq", "replay", "--yes"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Ran ran = bed_.semel(words);
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find(row.said), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find(row.fix), std::string::npos) << ran.err;
  }
  const Ran records = bed_.semel({"records", "unlock", "--consumer", "payments", "--yes"});
  EXPECT_EQ(records.code, 2);
  EXPECT_NE(records.err.find("--where 'consumer=payments'"), std::string::npos) << records.err;
  EXPECT_EQ(count({}), "1");
}

TEST_F(LettersTest, RecordsListFindsACompletedOneByItsKey) {
  mend();
  handle({"a"}, bed_.config());
  const Ran all = bed_.semel({"records", "list"});
  EXPECT_EQ(all.code, 0);
  EXPECT_EQ(all.out, "");
  EXPECT_NE(all.err.find("semel records show KEY"), std::string::npos) << all.err;
  EXPECT_EQ(bed_.semel({"records", "list", "--state", "completed"}).code, 2);
  for (const char* filter : {"key=a", "key=a and state=completed"}) {
    const Ran listed = bed_.semel({"records", "list", "-o", "json", "--where", filter});
    EXPECT_EQ(json_at(listed.out, "/records/0/key"), "a") << listed.out << listed.err;
    EXPECT_EQ(json_at(listed.out, "/records/0/state"), "completed");
  }
  const Ran none =
      bed_.semel({"records", "list", "-o", "json", "--where", "key=a", "--state", "dead"});
  EXPECT_EQ(json_at(none.out, "/records/0/key"), "(absent)");
}

TEST(ParkedOutcome, IsSaidAsParked) {
  const TestBed bed(
      "    source: { queue: {} }\n"
      "    key: json:/id\n"
      "    strategy: at_most_once\n"
      "    handler: { exec: { command: [/bin/sh, -c, \"exit 3\"] } }\n");
  for (const char* format : {"text", "jsonl", "json"}) {
    ASSERT_EQ(bed.semel({"send", "payments", fmt::format(R"({{"id":"{}"}})", format)}).code, 0);
    const Ran ran = bed.semel({"run", "--once", "-o", format});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(ran.out.find("parked"), std::string::npos) << ran.out;
    if (std::string_view(format) == "json") {
      EXPECT_EQ(json_at(ran.out, "/outcomes/parked"), "1") << ran.out;
      EXPECT_EQ(json_at(ran.out, "/outcomes/dead"), "0") << ran.out;
    } else {
      EXPECT_EQ(ran.out.find("dead"), std::string::npos) << ran.out;
    }
  }
  EXPECT_EQ(json_at(bed.semel({"dlq", "list", "-o", "json"}).out, "/count"), "0");
}

// The exit code of a run whose source has an error that no waiting mends.
TEST(FinalErrors, EndARunWithTheExitCodeOfTheirPage) {
  const TempDir folder;
  const auto ended = [&](const std::string& path, const StartOptions& options = {}) {
    const TestBed bed(payments(fmt::format("{{ file: {{ path: \"{}\" }} }}", path)));
    return bed.semel({"run", "--once", "-q"}, options);
  };
  const Ran absent = ended(folder.file("absent.jsonl"));
  EXPECT_NE(absent.err.find("error[R231]"), std::string::npos) << absent.err;
  EXPECT_EQ(absent.code, 69) << absent.err;
  ASSERT_EQ(::mkdir(folder.file("a-folder").c_str(), 0755), 0);
  const Ran no_file = ended(folder.file("a-folder"));
  EXPECT_NE(no_file.err.find("error[R232]"), std::string::npos) << no_file.err;
  EXPECT_EQ(no_file.code, 78) << no_file.err;
  write_file(folder.file("secret.jsonl"), "{}\n");
  ASSERT_EQ(::chmod(folder.file("secret.jsonl").c_str(), 0), 0);
  const Ran secret = ended(folder.file("secret.jsonl"), {.ordinary = true});
  EXPECT_NE(secret.err.find("error[R233]"), std::string::npos) << secret.err;
  EXPECT_EQ(secret.code, 77) << secret.err;
}

TEST_F(LettersTest, AreCountedByReasonAndCause) {
  ASSERT_EQ(bed_.semel({"store", "init"}).code, 0);
  EXPECT_NE(bed_.semel({"dlq", "groups"}).err.find("no dead letters"), std::string::npos);
  handle({"a", "b"}, bed_.config());
  handle({"c"}, other());
  const Ran groups = bed_.semel({"dlq", "groups", "-o", "json"});
  EXPECT_EQ(json_at(groups.out, "/schema"), "semel.v1.dead_letter_groups");
  EXPECT_EQ(json_at(groups.out, "/groups/0/consumer"), "payments");
  EXPECT_EQ(json_at(groups.out, "/groups/0/reason"), "attempts.exhausted");
  EXPECT_EQ(json_at(groups.out, "/groups/0/cause"), "handler.exec.3");
  EXPECT_EQ(json_at(groups.out, "/groups/0/count"), "2");
  EXPECT_EQ(json_at(groups.out, "/groups/1/count"), "(absent)") << "others are not in the config";
  EXPECT_EQ(json_at(groups.out, "/count"), "2");
  const Ran all = bed_.semel({"dlq", "groups", "--consumer", "others", "-o", "jsonl"});
  EXPECT_EQ(json_at(all.out, "/group/count"), "1") << all.out;
  const Ran text = bed_.semel({"dlq", "groups", "--where", "reason=handler.exec.3"});
  EXPECT_NE(text.out.find("attempts.exhausted  handler.exec.3"), std::string::npos) << text.out;
  EXPECT_EQ(json_at(bed_.semel({"dlq", "groups", "-o", "json", "--reason", "x"}).out, "/count"),
            "0");
}

TEST_F(LettersTest, ASweepRemovesThosePastTheirTime) {
  handle({"a", "b"}, bed_.config());
  const Words soon = {"store", "sweep", "-o",
                      "json",  "--set", "consumers[0].dead_letter.expire=1s"};
  const Words later = {"store", "sweep", "--set", "consumers[0].dead_letter.expire=30d"};
  EXPECT_EQ(bed_.semel(later).code, 0);
  EXPECT_EQ(json_at(bed_.semel({"store", "sweep", "-o", "json"}).out, "/dead_letters"), "0");
  EXPECT_EQ(count({}), "2");
  ASSERT_TRUE(comes_true([&] {
    return json_at(bed_.semel({"dlq", "list", "-o", "json", "--where", "age>1s"}).out, "/count") ==
           "2";
  }));
  EXPECT_EQ(json_at(bed_.semel(soon).out, "/dead_letters"), "2");
  EXPECT_EQ(count({}), "0");
  const Ran record = bed_.semel({"records", "show", "a", "-o", "json"});
  EXPECT_EQ(json_at(record.out, "/records/0/state"), "dead") << "its record stays closed";
}

}  // namespace
}  // namespace semel::test
