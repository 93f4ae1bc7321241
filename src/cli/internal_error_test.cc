#include "cli/internal_error.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <thread>

#include "cli/exit_code.h"

namespace semel::cli {
namespace {

template <class Thrown>
void die_in_a_thread(Thrown thrown, LogFormat log = LogFormat::kText) {
  end_with_exit_code_where_nobody_catches(log);
  std::thread([&] { throw thrown; }).join();
}

TEST(InternalErrorDeathTest, MemoryThatRunsOutInAThreadIsAnExitCode) {
  EXPECT_EXIT(die_in_a_thread(std::bad_alloc()), testing::ExitedWithCode(kInternal),
              "internal error: out of memory");
}

TEST(InternalErrorDeathTest, WhatNobodyCatchesIsTold) {
  EXPECT_EXIT(die_in_a_thread(std::logic_error("that cannot be")),
              testing::ExitedWithCode(kInternal), "internal error: that cannot be");
  EXPECT_EXIT(die_in_a_thread(7), testing::ExitedWithCode(kInternal), "has no text");
}

TEST(InternalErrorDeathTest, ALogOfJsonHasItAsAnObject) {
  EXPECT_EXIT(
      die_in_a_thread(std::logic_error("it \"cannot\"\nbe"), LogFormat::kJson),
      testing::ExitedWithCode(kInternal),
      R"(^\{"time":"[-0-9T:.]*Z","level":"error","message":"internal error: it \\"cannot\\"\\nbe",.*\})");
  EXPECT_EXIT(die_in_a_thread(std::bad_alloc(), LogFormat::kJson),
              testing::ExitedWithCode(kInternal), R"("message":"internal error: out of memory")");
}

TEST(InternalError, SaysWhatIsMeant) {
  EXPECT_EQ(internal_error_text(std::bad_alloc()), "internal error: out of memory");
  EXPECT_EQ(internal_error_text(std::runtime_error("x")), "internal error: x");
}

}  // namespace
}  // namespace semel::cli
