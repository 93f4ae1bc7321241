// semel tap beside real runs: what it shows, and of whom.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "tests/cli/tap_test_bed.h"

namespace semel::test {
namespace {

TEST_F(TapTest, WaitsForARunAndShowsHowItsDeliveriesEnd) {
  Program tap(this->tap());
  ASSERT_TRUE(tells(tap, "semel: no semel run of payments on sqlite ")) << tap.err();
  Program runner(run());
  ASSERT_TRUE(watches(tap, runner)) << tap.err();
  send(payment("p-1", 1, 5));
  ASSERT_TRUE(tap.says("  p-1  done "));
  send(payment("p-1", 1, 5) + payment("p-1", 1, 6) + "{\"id\":\"p-2\"}\n");
  ASSERT_TRUE(tap.says("  p-1  duplicate  of 20")) << tap.out();
  ASSERT_TRUE(tap.says("  p-1  conflict   key.conflict")) << tap.out();
  ASSERT_TRUE(tap.says("  p-2  dead       payload.invalid")) << tap.out();
  EXPECT_TRUE(tap.out().starts_with("20")) << "the time comes first: " << tap.out();
  EXPECT_NE(line_of(tap.out(), 0).find(" · attempt 1"), std::string::npos) << tap.out();
  EXPECT_EQ(tap.out().find("account"), std::string::npos) << "a payload nobody asked for";
  tap.signal(SIGINT);
  EXPECT_EQ(tap.wait().code, 0);
  EXPECT_EQ(sockets().size(), 1U);
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  EXPECT_TRUE(sockets().empty());
}

TEST_F(TapTest, FiltersAndEndsAtItsLimit) {
  Program tap(this->tap({"--outcome", "duplicate,dead", "--limit", "2", "-o", "json"}));
  Program runner(run({"-q"}));
  ASSERT_TRUE(watches(tap, runner));
  send(payment("p-1", 1, 5) + payment("p-1", 1, 5) + payment("p-2", 1, 5));
  send(payment("p-2", 1, 5) + payment("p-1", 1, 5));
  const Ran ran = tap.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(count_of(ran.out, "\n"), 2U) << ran.out;
  for (const std::size_t number : {0U, 1U}) {
    const std::string line = line_of(ran.out, number);
    EXPECT_EQ(json_at(line, "/schema"), "semel.v1.delivery") << line;
    EXPECT_EQ(json_at(line, "/outcome"), "duplicate") << line;
    EXPECT_EQ(json_at(line, "/consumer"), "payments") << line;
    EXPECT_EQ(json_at(line, "/pid"), std::to_string(runner.pid())) << line;
    EXPECT_TRUE(json_at(line, "/at").starts_with("20")) << line;
    EXPECT_TRUE(json_at(line, "/completed_at").starts_with("20")) << line;
    EXPECT_EQ(json_at(line, "/payload"), "(absent)") << line;
    EXPECT_EQ(json_at(line, "/payload_json"), "(absent)") << line;
  }
  EXPECT_EQ(json_at(line_of(ran.out, 0), "/key"), "p-1");
  EXPECT_EQ(json_at(line_of(ran.out, 1), "/key"), "p-2");
}

TEST_F(StdinTapTest, ShowsPayloadsAsTheyAreAskedFor) {
  Program json(tap({"--body", "json", "--limit", "3", "-o", "json"}));
  Program hex(tap({"--body", "hex", "--limit", "3", "-o", "jsonl"}));
  Program text(tap({"--body", "json", "--limit", "3"}));
  Program runner(run({"-q"}), {.held_input = true});
  for (const auto* one : {&json, &hex, &text}) ASSERT_TRUE(watches(*one, runner));
  runner.say("{ \"id\": \"p-1\", \"account\": 1, \"amount\": 5 }\n");
  for (const auto* one : {&json, &hex, &text}) {
    ASSERT_TRUE(comes_true([&] { return one->out().find("p-1") != std::string::npos; }));
  }
  runner.say("not json\n\xff\xfe\n");
  const Ran as_json = json.wait(), as_hex = hex.wait(), as_text = text.wait();
  EXPECT_EQ(json_at(line_of(as_json.out, 0), "/payload_json/amount"), "5") << as_json.out;
  EXPECT_EQ(json_at(line_of(as_json.out, 1), "/payload"), "not json") << as_json.out;
  EXPECT_EQ(json_at(line_of(as_json.out, 1), "/key"), "null") << as_json.out;
  EXPECT_EQ(json_at(line_of(as_json.out, 2), "/payload_base64"), "//4=") << as_json.out;
  EXPECT_EQ(json_at(line_of(as_hex.out, 1), "/payload_hex"), "6e6f74206a736f6e") << as_hex.out;
  EXPECT_EQ(line_of(as_text.out, 1), "    {\"id\":\"p-1\",\"account\":1,\"amount\":5}");
  EXPECT_EQ(line_of(as_text.out, 3), "    not json");
  EXPECT_EQ(line_of(as_text.out, 5), "    \\xff\\xfe");
}

TEST_F(StdinTapTest, ShowsAllRunsOfTheStore) {
  Program early(run({"-q"}), {.held_input = true});
  ASSERT_TRUE(comes_true([&] { return sockets().size() == 1; }));
  Program tap(this->tap({"-o", "json"}));
  ASSERT_TRUE(watches(tap, early));
  Program late(run({"-q"}), {.held_input = true});
  ASSERT_TRUE(watches(tap, late));
  early.say(payment("p-1", 1, 5));
  ASSERT_TRUE(tap.says("\"key\":\"p-1\"")) << tap.err();
  late.say(payment("p-2", 1, 5));
  ASSERT_TRUE(tap.says("\"key\":\"p-2\"")) << tap.err();
  EXPECT_EQ(json_at(line_of(tap.out(), 0), "/pid"), std::to_string(early.pid()));
  EXPECT_EQ(json_at(line_of(tap.out(), 1), "/pid"), std::to_string(late.pid()));
  early.end_input();
  early.signal(SIGTERM);
  EXPECT_EQ(early.wait().code, 0);
  ASSERT_TRUE(tells(tap, "process " + std::to_string(early.pid()) + " ended\n")) << tap.err();
  EXPECT_EQ(tap.err().rfind("waiting"), std::string::npos) << tap.err();
  late.say(payment("p-3", 1, 5));
  EXPECT_TRUE(tap.says("\"key\":\"p-3\""));
}

// On a busy machine the tap may not get a turn before a run of some milliseconds is over.
TEST_F(TapTest, AShortRunIsSeenFromItsFirstDelivery) {
  ASSERT_EQ(bed_.semel({"store", "init"}).code, 0);
  Program tap(this->tap());
  ASSERT_TRUE(tells(tap, "waiting for one"));
  int rounds = 0;
  const auto by = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto one_is_whole = [&] {
    const std::string out = tap.out();
    for (int i = 0; i < rounds; ++i) {
      const std::string number = std::to_string(i);
      if (count_of(out, "  a-" + number + "  done") + count_of(out, "  z-" + number + "  done") ==
          2) {
        return true;
      }
    }
    return false;
  };
  while (std::chrono::steady_clock::now() < by && !one_is_whole()) {
    const std::string number = std::to_string(rounds++);
    send(payment("a-" + number, 1, 5) + payment("z-" + number, 1, 5));
    ASSERT_EQ(bed_.semel({"run", "--once", "-q"}).code, 0);
  }
  EXPECT_TRUE(comes_true(one_is_whole)) << tap.out() << tap.err();
}

TEST_F(TapTest, WaitsForAStoreThatIsNotThereYet) {
  const std::string path = bed_.file("later.db");
  Program tap(this->tap({"--set", "store.sqlite.path=" + path, "--limit", "1"}));
  ASSERT_TRUE(tells(tap, "waiting for one")) << tap.err();
  std::filesystem::copy_file(bed_.database(), path);
  Program runner(run({"-q", "--set", "store.sqlite.path=" + path}));
  ASSERT_TRUE(watches(tap, runner));
  const Ran sent =
      bed_.semel({"send", "payments", "{\"account\":1}", "--set", "store.sqlite.path=" + path});
  ASSERT_EQ(sent.code, 0) << sent.err;
  const Ran ran = tap.wait();
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("dead       key.missing"), std::string::npos) << ran.out;
}

TEST_F(TapTest, ARunWithoutTheConsumerIsNotWatched) {
  const std::string other = bed_.file("other.yaml");
  write_file(other,
             "version: 1\nstore: { sqlite: { path: semel.db } }\nconsumers:\n  - name: emails\n" +
                 payments(kQueue));
  Program runner({"run", "-q", other});
  ASSERT_TRUE(comes_true([&] { return sockets().size() == 1; }));
  Program tap(this->tap());
  ASSERT_TRUE(tells(tap, "no semel run of payments")) << tap.err();
  EXPECT_EQ(tap.err().find("watching"), std::string::npos);
}

TEST_F(TapTest, QuietSaysOnlyWhatItWasAskedFor) {
  Program runner(run({"-q"}));
  ASSERT_TRUE(comes_true([&] { return sockets().size() == 1; }));
  Program tap(this->tap({"-q"}));
  // It watches at some moment, of which it says nothing.
  int sent = 0;
  EXPECT_TRUE(comes_true([&] {
    send(payment("p-" + std::to_string(sent++), 1, 1));
    return tap.out().find("done") != std::string::npos;
  }));
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  tap.signal(SIGTERM);
  const Ran ran = tap.wait();
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err, "");
}

TEST_F(TapTest, WhatCannotBeIsSaidWithItsFix) {
  write_file(bed_.file("memory.yaml"),
             "version: 1\nstore: { memory: {} }\nconsumers:\n  - name: payments\n"
             "    source: { stdin: {} }\n    key: { from: [json:/id] }\n"
             "    handler: { exec: { command: [cat] } }\n");
  const Ran memory = test::run({"tap", "payments", "-c", bed_.file("memory.yaml")});
  EXPECT_EQ(memory.code, 69) << memory.err;
  EXPECT_NE(memory.err.find("error[R293]"), std::string::npos) << memory.err;
  EXPECT_NE(memory.err.find("fix: "), std::string::npos) << memory.err;
  const Ran consumer = bed_.semel({"tap", "paymnts"});
  EXPECT_EQ(consumer.code, 2);
  EXPECT_NE(consumer.err.find("did you mean \"payments\"?"), std::string::npos) << consumer.err;
  const Ran outcome = bed_.semel({"tap", "payments", "--outcome", "done,dupplicate"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("did you mean \"duplicate\"?"), std::string::npos) << outcome.err;
  const Ran body = bed_.semel({"tap", "payments", "--body", "xml"});
  EXPECT_EQ(body.code, 2);
  EXPECT_NE(body.err.find("one of none, json, hex"), std::string::npos) << body.err;
  const Ran folder =
      bed_.semel({"tap", "payments", "--set", "store.sqlite.path=" + bed_.file("no/such.db")});
  EXPECT_EQ(folder.code, 69);
  EXPECT_NE(folder.err.find("error[R201]"), std::string::npos) << folder.err;
  EXPECT_EQ(bed_.semel({"tap"}).code, 2);
}

TEST_F(StdinTapTest, ADryRunEndsNothingAndIsNotWatched) {
  ASSERT_EQ(bed_.semel({"store", "init", "-q"}).code, 0);
  Program runner(run({"--dry-run"}), {.held_input = true});
  runner.say(payment("p-1", 1, 5));
  ASSERT_TRUE(runner.says("p-1  would be done"));
  EXPECT_TRUE(sockets().empty());
}

}  // namespace
}  // namespace semel::test
