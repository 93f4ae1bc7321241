// A fence in front of a gateway that honours keys: what a crash left is finished by itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "tests/cli/gateway.h"
#include "tests/cli/program.h"

namespace semel::test {
namespace {

std::string charging(const Gateway& gateway, const std::string& strategy) {
  return fmt::format(
      "    source: {{ stdin: {{}} }}\n"
      "    key: json:/id\n"
      "    strategy: {}\n"
      "    dedup: {{ lease: 2s }}\n"
      "    handler:\n"
      "      http: {{ url: \"{}\", honours_key: true, timeout: 20s }}\n",
      strategy, gateway.url());
}

// A run that is killed while the gateway has its call, and another that is told nothing more.
void kill_in_mid_call(const TestBed& bed, Gateway& gateway) {
  Program runner({"run", bed.config(), "-q"}, {.held_input = true});
  runner.say(R"({"id":"p-1"})"
             "\n");
  EXPECT_TRUE(comes_true([&] { return gateway.calls() == 1; })) << runner.err();
  runner.signal(SIGKILL);
  EXPECT_EQ(runner.wait().signal, SIGKILL) << "the fault must have fired";
  const Ran rest = bed.semel({"run", "--once", "-q"}, {.input = "\n"});
  EXPECT_EQ(rest.code, 0) << rest.err;
}

TEST(Fence, WhatACrashLeftIsFinishedUnderTheSameKeyWithoutARedelivery) {
  Gateway gateway;
  gateway.next({Gateway::Answer::kNever});
  const TestBed bed(charging(gateway, "fence"));
  kill_in_mid_call(bed, gateway);
  EXPECT_EQ(gateway.calls("p-1"), 2);
  EXPECT_EQ(gateway.effects(), 1);
  const Ran shown = bed.semel({"records", "show", "p-1", "-o", "json"});
  EXPECT_EQ(json_at(shown.out, "/records/0/state"), "completed") << shown.out;
}

// The other side of it: nothing but a redelivery would bring the message again.
TEST(Fence, WithoutItTheMessageOfASourceThatCannotBeReadAgainIsGone) {
  Gateway gateway;
  gateway.next({Gateway::Answer::kNever});
  const TestBed bed(charging(gateway, "state_machine"));
  kill_in_mid_call(bed, gateway);
  EXPECT_EQ(gateway.calls(), 1);
  const Ran shown = bed.semel({"records", "show", "p-1", "-o", "json"});
  EXPECT_NE(json_at(shown.out, "/records/0/state"), "completed") << shown.out;
}

TEST(Fence, CheckSaysWhatIsPromisedAndWhatTheReceiverForgets) {
  Gateway gateway;
  std::string config = charging(gateway, "fence");
  config.replace(config.find("timeout: 20s"), 12, "timeout: 20s, remote_keeps: 1h");
  const TestBed bed(config);
  const Ran checked = bed.semel({"check"});
  EXPECT_NE(checked.out.find("keyed_retry"), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("W045"), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("without a redelivery"), std::string::npos) << checked.out;
}

}  // namespace
}  // namespace semel::test
