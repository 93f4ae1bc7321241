#include "handlers/exec/verdict_of.h"

#include <gtest/gtest.h>

#include <cerrno>

#include <semel/reason.h>

namespace semel::handlers::exec {
namespace {

core::ExecSpec spec() {
  core::ExecSpec made;
  made.timeout = std::chrono::seconds(90);
  made.result_limit = 10;
  return made;
}

ProcessEnd ended(ExitStatus status, ProcessEnd::Why why = ProcessEnd::Why::kItself) {
  ProcessEnd made;
  made.status = status;
  made.why = why;
  return made;
}

TEST(LastLine, IsTheLastThatIsNotBlank) {
  EXPECT_EQ(last_line("one\ntwo\n"), "two");
  EXPECT_EQ(last_line("one\r\ntwo\r\n\n \t\n"), "two");
  EXPECT_EQ(last_line("alone"), "alone");
  EXPECT_EQ(last_line(""), "");
  EXPECT_EQ(last_line("\n \n"), "");
}

TEST(LastLine, IsPrintable) {
  EXPECT_EQ(last_line("a\tb\x1b[31mred"), "a b\\x1b[31mred");
  EXPECT_EQ(last_line("caf\xC3\xA9 \xFF\xC3"), "caf\xC3\xA9 \\xff\\xc3");
}

TEST(LastLine, IsCutBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 2'000; ++i) text += "\xC3\xA9";
  const std::string line = last_line(text);
  EXPECT_LT(line.size(), text.size());
  EXPECT_EQ(line.size() % 2, 0U);
}

TEST(Tail, KeepsTheEndAndNoMore) {
  Tail tail;
  for (int i = 0; i < 10'000; ++i) tail.append("a line of noise\n");
  tail.append("the last");
  EXPECT_TRUE(tail.text().ends_with("noise\nthe last"));
  const std::size_t kept = tail.text().size();
  EXPECT_LT(kept, 10'000U);
  tail.append(std::string(1 << 20, 'x') + "end");
  EXPECT_EQ(tail.text().size(), kept);
  EXPECT_TRUE(tail.text().ends_with("xend"));
}

TEST(VerdictOf, AStopOutweighsTheExitCode) {
  for (const int code : {0, 65, 100}) {
    const auto timed_out = verdict_of(spec(), ended({code, 0}, ProcessEnd::Why::kTimeout));
    EXPECT_EQ(timed_out.code(), reason::kHandlerTimeout);
    EXPECT_EQ(timed_out.kind(), Verdict::Kind::kRetry);
    EXPECT_TRUE(timed_out.counted());
    EXPECT_EQ(timed_out.reason(), "the command ran longer than its timeout of 90s");
    const auto stopped = verdict_of(spec(), ended({code, 0}, ProcessEnd::Why::kStopped));
    EXPECT_EQ(stopped.code(), "handler.exec.signal_15");
    EXPECT_FALSE(stopped.counted());
  }
  const auto killed = verdict_of(spec(), ended({std::nullopt, 9}, ProcessEnd::Why::kStopped));
  EXPECT_EQ(killed.code(), "handler.exec.signal_9");
  EXPECT_TRUE(killed.unknown());
}

TEST(VerdictOf, ALostChildIsUnknown) {
  const auto verdict = verdict_of(spec(), ended({std::nullopt, 0}));
  EXPECT_EQ(verdict.kind(), Verdict::Kind::kRetry);
  EXPECT_TRUE(verdict.unknown());
  EXPECT_NE(verdict.reason().find("not known"), std::string::npos);
}

TEST(NotStarted, OnlyATooLongEnvironmentIsTheMessagesFault) {
  EXPECT_EQ(not_started("/bin/x", E2BIG).kind(), Verdict::Kind::kDead);
  for (const int problem : {ENOENT, EACCES, ENOEXEC, EMFILE, ETXTBSY}) {
    const auto verdict = not_started("/bin/x", problem);
    EXPECT_EQ(verdict.kind(), Verdict::Kind::kRetry);
    EXPECT_EQ(verdict.code(), "handler.exec.start");
    EXPECT_FALSE(verdict.counted());
    EXPECT_NE(verdict.reason().find("\"/bin/x\" cannot be started"), std::string::npos);
  }
  EXPECT_TRUE(is_shortage(EMFILE));
  EXPECT_FALSE(is_shortage(ENOENT));
}

}  // namespace
}  // namespace semel::handlers::exec
