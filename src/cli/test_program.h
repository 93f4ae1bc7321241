// Runs a program of some commands in the test's own process, and keeps what it prints.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "cli/command.h"

namespace semel::cli {

struct ProgramRan {
  int code = 0;
  std::string out;
  std::string err;
};

inline ProgramRan run_program(std::vector<std::string> words,
                              std::initializer_list<void (*)(Program&)> commands) {
  words.insert(words.begin(), "semel");
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Program program;
  for (const auto add : commands) add(program);
  ProgramRan ran;
  ran.code = program.run(static_cast<int>(arguments.size()), arguments.data());
  ran.out = testing::internal::GetCapturedStdout();
  ran.err = testing::internal::GetCapturedStderr();
  return ran;
}

}  // namespace semel::cli
