// The input of a command, and how its output is handled.
#include "handlers/exec/exec_handler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include <semel/reason.h>

#include "handlers/exec/test_calls.h"
#include "tests/support/set_variable.h"
#include "tests/support/temp_dir.h"

namespace semel::handlers::exec {
namespace {

using Kind = Verdict::Kind;
using test::TempDir;
using test::write_file;

core::ExecSpec command(std::vector<std::string> words) {
  auto spec = shell("");
  spec.command = std::move(words);
  return spec;
}

std::string write_script(const TempDir& folder, const std::string& text) {
  const std::string path = folder.file("script");
  write_file(path, text);
  ::chmod(path.c_str(), 0755);
  return path;
}

TEST(ExecHandler, ThePayloadIsStdinAndStdoutTheResult) {
  const Verdict verdict = run(shell("printf 'got '; cat"), "{\"a\":1}");
  EXPECT_EQ(verdict.kind(), Kind::kDone);
  EXPECT_EQ(verdict.result(), "got {\"a\":1}");
  EXPECT_EQ(run(shell("wc -c"), "").result(), "0\n");
  const std::string bytes("a\0b\xFF\n", 5);
  EXPECT_EQ(run(shell("cat"), bytes).result(), bytes);
}

TEST(ExecHandler, ExitCodesAreVerdicts) {
  const auto ends_with = [](int code) { return run(shell(fmt::format("exit {}", code))); };
  EXPECT_EQ(ends_with(0).kind(), Kind::kDone);
  EXPECT_EQ(ends_with(65).kind(), Kind::kDead);
  EXPECT_EQ(ends_with(65).code(), "handler.exec.65");
  EXPECT_EQ(ends_with(75).kind(), Kind::kRetry);
  EXPECT_EQ(ends_with(100).kind(), Kind::kDiscard);
  for (const int other : {1, 2, 66, 127, 255}) {
    const Verdict verdict = ends_with(other);
    EXPECT_EQ(verdict.kind(), Kind::kRetry) << other;
    EXPECT_EQ(verdict.code(), fmt::format("handler.exec.{}", other));
    EXPECT_EQ(verdict.reason(), fmt::format("the command ended with exit code {}", other));
    EXPECT_TRUE(verdict.counted());
    EXPECT_FALSE(verdict.unknown());
  }
}

TEST(ExecHandler, TheLastLineOfStderrIsTheReason) {
  const Verdict verdict =
      run(shell("echo first >&2; printf 'no such \\377 picture\\n\\n' >&2; "
                "echo out; exit 65"));
  EXPECT_EQ(verdict.reason(), "no such \\xff picture");
  EXPECT_EQ(verdict.result(), "");
}

TEST(ExecHandler, ASignalIsARetryWithUnknownOutcome) {
  const Verdict verdict = run(shell("echo going >&2; kill -9 $$"));
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.exec.signal_9");
  EXPECT_TRUE(verdict.unknown());
  EXPECT_TRUE(verdict.counted());
  EXPECT_EQ(verdict.reason(), "the command was ended by signal 9; it said: going");
}

TEST(ExecHandler, TheEnvironmentTellsOfTheMessage) {
  const test::SetVariable type("SEMEL_TYPE", "of another message");
  const test::SetVariable own("SEMEL_TEST_OWN", "kept");
  const auto handler = handler_of(shell("env"));
  Message::Parts parts;
  parts.key.text = std::string("k\0%", 3);
  parts.content_type = "image/png";
  parts.headers = {{"TraceParent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}};
  TestCall call(parts);
  call.attempt.number = 3;
  call.attempt.taken_over = true;
  call.attempt.since_first = std::chrono::milliseconds(1500);
  call.attempt.token = Token{42};
  const std::string said = "\n" + call.begin(handler).wait()->result();
  for (const auto* line : {"SEMEL_KEY=k%00%25", "SEMEL_ATTEMPT=3", "SEMEL_CONSUMER=thumbs",
                           "SEMEL_SOURCE=queue", "SEMEL_TAKEN_OVER=1", "SEMEL_SINCE_FIRST_MS=1500",
                           "SEMEL_TOKEN=42", "SEMEL_CONTENT_TYPE=image/png", "SEMEL_TEST_OWN=kept",
                           "TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}) {
    EXPECT_NE(said.find(fmt::format("\n{}\n", line)), std::string::npos) << line << said;
  }
  EXPECT_EQ(said.find("SEMEL_TYPE"), std::string::npos) << said;
}

TEST(ExecHandler, NoShellReadsTheCommand) {
  const Verdict verdict = run(command({"printf", "%s|", "$HOME", "a b", "`id`; *", ""}));
  EXPECT_EQ(verdict.result(), "$HOME|a b|`id`; *||");
}

TEST(ExecHandler, AResultPastTheLimitIsADeadLetterAndNeverCut) {
  auto spec = shell("printf 12345");
  spec.result_limit = 5;
  EXPECT_EQ(run(spec).result(), "12345");
  spec.result_limit = 4;
  const Verdict verdict = run(spec);
  EXPECT_EQ(verdict.kind(), Kind::kDead);
  EXPECT_EQ(verdict.code(), reason::kTooLarge);
  EXPECT_EQ(verdict.reason(), "the command printed 5 bytes on stdout, the limit is 4");
  spec.command.back() += "; exit 75";
  EXPECT_EQ(run(spec).code(), "handler.exec.75");
}

TEST(ExecHandler, WhatCannotRunIsRefusedAtTheStart) {
  const auto refusal = [](std::vector<std::string> words) {
    const auto made = make_exec_handler(command(std::move(words)));
    EXPECT_FALSE(made);
    if (made) return std::string("accepted");
    EXPECT_EQ(made.error().kind, ErrorKind::kRejected);
    EXPECT_EQ(made.error().code, "R280");
    return made.error().message;
  };
  EXPECT_EQ(refusal({"semel-no-such-program"}),
            "consumer \"thumbs\": there is no program \"semel-no-such-program\" in the folders of "
            "PATH");
  EXPECT_EQ(refusal({"/no/such/program"}),
            "consumer \"thumbs\": \"/no/such/program\" is not there");
  EXPECT_EQ(refusal({}), "consumer \"thumbs\": the exec handler names no program");
  EXPECT_NE(refusal({"printf", std::string("a\0b", 3)}).find("NUL"), std::string::npos);
  auto endless = command({"true"});
  endless.timeout = {};
  EXPECT_FALSE(make_exec_handler(endless));
}

TEST(ExecHandler, IgnoredChildrenAreRefusedAtTheStart) {
  auto* const before = std::signal(SIGCHLD, SIG_IGN);
  const auto made = make_exec_handler(command({"true"}));
  std::signal(SIGCHLD, before);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "R281");
}

TEST(ExecHandler, AProgramThatIsGoneIsNotTheMessagesFault) {
  const TempDir folder;
  const std::string path = write_script(folder, "#!/bin/sh\nexit 0\n");
  const auto handler = handler_of(command({path}));
  std::filesystem::rename(path, path + ".away");
  NotingGate gate;
  TestCall call;
  call.attempt.gate = &gate;
  const Verdict verdict = *call.begin(handler).wait();
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.exec.start");
  EXPECT_FALSE(verdict.counted());
  EXPECT_FALSE(verdict.unknown());
  EXPECT_NE(verdict.reason().find(path + "\" cannot be started: No such file"), std::string::npos);
  EXPECT_EQ(gate.told(), std::vector<std::string>{"shut " + verdict.reason()});

  std::filesystem::rename(path + ".away", path);
  TestCall again;
  again.attempt.gate = &gate;
  EXPECT_EQ(again.begin(handler).wait()->kind(), Kind::kDone);
  EXPECT_EQ(gate.told().back(), "open");
}

TEST(ExecHandler, AScriptWithoutAFirstLineIsNotGivenToAShell) {
  const TempDir folder;
  const Verdict verdict = run(command({write_script(folder, "touch ran\n")}));
  EXPECT_EQ(verdict.code(), "handler.exec.start");
  EXPECT_NE(verdict.reason().find("#!/bin/sh"), std::string::npos) << verdict.reason();
}

TEST(ExecHandler, AKeyTooLongForAnEnvironmentIsADeadLetter) {
  const auto handler = handler_of(shell("exit 0"));
  NotingGate gate;
  TestCall call("{}", std::string(1 << 20, 'k'));
  call.attempt.gate = &gate;
  const Verdict verdict = *call.begin(handler).wait();
  EXPECT_EQ(verdict.kind(), Kind::kDead);
  EXPECT_EQ(verdict.code(), reason::kTooLarge);
  EXPECT_TRUE(gate.told().empty());
}

}  // namespace
}  // namespace semel::handlers::exec
