// Messages that a test bed's consumer reads from its queue, and publishes to a broker.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "tests/cli/program.h"

namespace semel::test {

// Queues so many messages of the ids k-0, k-1 …, or from `first` on; `more`: further words of
// `semel send`.
inline void send_ids(const TestBed& bed, std::size_t count, const Words& more = {},
                     std::size_t first = 0) {
  std::string lines;
  for (std::size_t i = first; i < first + count; ++i) {
    lines += fmt::format("{{\"id\":\"k-{}\",\"account\":1,\"amount\":1}}\n", i);
  }
  Words words = {"send", "payments", "-"};
  words.insert(words.end(), more.begin(), more.end());
  const Ran sent = bed.semel(words, {.input = lines});
  ASSERT_EQ(sent.code, 0) << sent.err;
}

// How many are done, as the status says it.
inline std::string completed_of(const TestBed& bed) {
  return json_at(bed.semel({"status", "-o", "json"}).out, "/store/completed");
}

inline bool all_completed(const TestBed& bed, std::size_t count) {
  return completed_of(bed) == std::to_string(count);
}

}  // namespace semel::test
