// A store with runs and taps on it, and patience.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "tests/cli/program.h"

namespace semel::test {

// From zero.
std::string line_of(const std::string& text, std::size_t number);

// The usual payments consumer.
class TapTest : public ::testing::Test {
 protected:
  explicit TapTest(std::string_view source = kQueue) : bed_(payments(source)) {}

  Words tap(const Words& more = {}) const;
  Words run(const Words& more = {}) const;
  void send(const std::string& lines) const;
  // Waits until the one is seen by the other.
  static bool watches(const Program& tap, const Program& runner);
  // The names of the runs' sockets.
  Words sockets() const;

  TestBed bed_;
};

class StdinTapTest : public TapTest {
 protected:
  StdinTapTest() : TapTest("{ stdin: {} }") {}
};

}  // namespace semel::test
