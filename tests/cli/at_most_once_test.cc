// A mailer that would rather ask a person than send twice.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/at_a_terminal.h"
#include "tests/cli/gateway.h"
#include "tests/cli/program.h"

namespace semel::test {
namespace {

std::string mailing(const Gateway& gateway) {
  return fmt::format(
      "    source: {{ queue: {{}} }}\n"
      "    key: json:/id\n"
      "    strategy: at_most_once\n"
      "    dedup: {{ lease: 2s }}\n"
      "    handler:\n"
      "      http: {{ url: \"{}\", timeout: 20s }}\n",
      gateway.url());
}

std::string state_of(const TestBed& bed, const std::string& key) {
  const Ran shown = bed.semel({"records", "show", key, "-o", "json"});
  return json_at(shown.out, "/records/0/state");
}

// A run that is killed while the service has its call, and another one after it.
void kill_and_expect_parked(const TestBed& bed, Gateway& gateway, const std::string& key) {
  const int before = gateway.calls();
  const Ran sent = bed.semel({"send", "payments", fmt::format(R"({{"id":"{}"}})", key)});
  ASSERT_EQ(sent.code, 0) << sent.err;
  Program runner({"run", bed.config(), "-q"}, {.held_input = true});
  EXPECT_TRUE(comes_true([&] { return gateway.calls() == before + 1; })) << runner.err();
  runner.signal(SIGKILL);
  EXPECT_EQ(runner.wait().signal, SIGKILL) << "the fault must have fired";
  const Ran rest = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(gateway.calls(), before + 1) << "called again";
  const Ran shown = bed.semel({"records", "show", key, "-o", "json"});
  EXPECT_EQ(json_at(shown.out, "/records/0/state"), "parked");
  EXPECT_EQ(json_at(shown.out, "/records/0/reason"), "lease.parked");
}

TEST(AtMostOnce, WhatACrashLeftInTheDarkIsParkedAndAPersonSaysWhatBecameOfIt) {
  Gateway gateway(Gateway::Keys::kIgnored);
  gateway.next({3, Gateway::Answer::kNever});
  const TestBed bed(mailing(gateway));
  for (const char* key : {"it-happened", "it-did-not", "never-mind"}) {
    kill_and_expect_parked(bed, gateway, key);
  }
  const Ran asked = bed.semel({"records", "unlock", "it-did-not", "--yes"});
  EXPECT_NE(asked.code, 0);
  EXPECT_NE(asked.err.find("R242"), std::string::npos) << asked.err;
  EXPECT_NE(asked.err.find("--as done"), std::string::npos) << asked.err;
  EXPECT_EQ(asked.out, "0 unlocked of 1; 1 refused: R242\n");
  const Ran all = bed.semel({"records", "unlock", "it-happened", "it-did-not", "--yes"});
  EXPECT_EQ(all.out, "0 unlocked of 2; 2 refused: R242\n");
  EXPECT_EQ(count_of(all.err, "error[R242]"), 1U) << all.err;
  const auto say = [&](const char* key, const char* as) {
    const Ran said = bed.semel({"records", "unlock", key, "--as", as, "--yes"});
    EXPECT_EQ(said.code, 0) << said.out << said.err;
  };
  say("it-happened", "done");
  say("it-did-not", "retry");
  say("never-mind", "dead");
  EXPECT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(state_of(bed, "it-happened"), "completed");
  EXPECT_EQ(state_of(bed, "it-did-not"), "completed");
  EXPECT_EQ(state_of(bed, "never-mind"), "dead");
  EXPECT_EQ(gateway.calls(), 4) << "one call more";
  EXPECT_EQ(gateway.calls("it-did-not"), 2);
  EXPECT_EQ(bed.semel({"records", "unlock", "it-happened", "--as", "retry", "--yes"}).code, 4)
      << "what is completed stays";
}

// A consumer whose handler dies, which leaves the outcome unknown.
std::string dying(std::string_view source) {
  return fmt::format(
      "    source: {}\n"
      "    key: json:/id\n"
      "    strategy: at_most_once\n"
      "    handler: {{ exec: {{ command: [sh, -c, \"kill -9 $$\"] }} }}\n",
      source);
}

TEST(AtMostOnce, TheRunAndStatusSayWhatWaitsForAPerson) {
  const TestBed bed(dying(kQueue));
  ASSERT_EQ(bed.semel({"send", "payments", R"({"id":"m1"})"}).code, 0);
  AtATerminal runner({"run", bed.config(), "--once"});
  const std::string said = runner.said();
  EXPECT_NE(said.find("payments  m1  parked     outcome.unknown: handler.exec.signal_9"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("next: semel records list --state parked\r\n"), std::string::npos) << said;
  AtATerminal status({"status", bed.config()});
  EXPECT_NE(status.said().find("next: semel records list --state parked --consumer payments\r\n"),
            std::string::npos)
      << status.said();
}

// Its source brings a parked message again for as long as nobody decides.
TEST(AtMostOnce, TheRunSaysOnceThatAMessageIsParked) {
  const TestBed bed(dying("{ stdin: {} }"));
  const std::string line = "{\"id\":\"m1\"}\n";
  const Ran ran = bed.semel({"run", "--once"}, {.input = line + line + line});
  EXPECT_EQ(count_of(ran.out, "m1  parked"), 1U) << ran.out;
  EXPECT_NE(ran.out.find("3 deliveries, 0 effects, 3 parked\n"), std::string::npos) << ran.out;
}

class ParkedInOrder : public ::testing::TestWithParam<const char*> {
 protected:
  // The handler dies with a1 until the file "mended" is there, and writes the others down.
  static std::string consumer() {
    return fmt::format(
        "    source: {{ file: {{ path: messages.jsonl, from: start }} }}\n"
        "    key: json:/id\n"
        "    order: {{ key: json:/account, on_failure: {} }}\n"
        "    strategy: at_most_once\n"
        "    handler: {{ exec: {{ command: [./handler.sh], timeout: 20s }} }}\n",
        GetParam());
  }
  static void write_script(const TestBed& bed) {
    write_file(bed.file("handler.sh"),
               fmt::format("#!/bin/sh\ncd '{}'\ncat > /dev/null\n"
                           "[ $SEMEL_KEY != a1 ] || [ -e mended ] || kill -9 $$\n"
                           "echo $SEMEL_KEY >> effects\n",
                           bed.file("")));
    std::filesystem::permissions(bed.file("handler.sh"), std::filesystem::perms::owner_all);
  }
  void arrive(const TestBed& bed, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      arrived_ += fmt::format("{{\"id\":\"{}\",\"account\":\"{}\"}}\n", key, key.substr(0, 1));
    }
    write_file(bed.file("messages.jsonl"), arrived_);
  }
  static void run_all(const TestBed& bed) {
    const Ran ran = bed.semel({"run", "--once", "-q"});
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  }
  // Handled messages of an account, in the order of their effects.
  static std::string effects_of(const TestBed& bed, char account) {
    std::istringstream effects(read_file(bed.file("effects")));
    std::string found;
    for (std::string key; effects >> key;) {
      if (key.front() == account) found += key + ' ';
    }
    return found;
  }

  std::string arrived_;
};

// A parked message delays nobody: neither those that arrive with it, nor any after a restart.
TEST_P(ParkedInOrder, DelaysNobodyAndComesLastOnceUnlocked) {
  const TestBed bed(consumer());
  write_script(bed);
  arrive(bed, {"a1", "a2", "b1"});
  run_all(bed);
  EXPECT_EQ(state_of(bed, "a1"), "parked");
  EXPECT_EQ(effects_of(bed, 'a'), "a2 ");
  EXPECT_EQ(effects_of(bed, 'b'), "b1 ");
  arrive(bed, {"a3", "c1"});
  run_all(bed);
  EXPECT_EQ(effects_of(bed, 'a'), "a2 a3 ");
  EXPECT_EQ(effects_of(bed, 'c'), "c1 ");
  write_file(bed.file("mended"), "");
  const Ran said = bed.semel({"records", "unlock", "a1", "--as", "retry", "--yes"});
  EXPECT_EQ(said.code, 0) << said.out << said.err;
  run_all(bed);
  EXPECT_EQ(effects_of(bed, 'a'), "a2 a3 a1 ");
  EXPECT_EQ(state_of(bed, "a1"), "completed");
}

INSTANTIATE_TEST_SUITE_P(AtMostOnce, ParkedInOrder, testing::Values("hold_key", "block"));

TEST(AtMostOnce, CheckPromisesIt) {
  Gateway gateway;
  const TestBed bed(mailing(gateway));
  const Ran checked = bed.semel({"check"});
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_NE(checked.out.find("at_most_once"), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("records unlock --as"), std::string::npos) << checked.out;
}

}  // namespace
}  // namespace semel::test
