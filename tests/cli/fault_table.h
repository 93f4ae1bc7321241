// FaultTable: a message, a strategy for work outside of the store, and a service that counts what
// comes of it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <ostream>
#include <string>

#include "tests/cli/gateway.h"
#include "tests/cli/program.h"

namespace semel::test {

enum class Column { kFence, kIgnoring, kAtMostOnce };
inline std::string name_of(Column column) {
  constexpr const char* kNames[] = {"Fence", "FenceIgnored", "AtMostOnce"};
  return kNames[static_cast<std::size_t>(column)];
}
inline void PrintTo(Column column, std::ostream* out) { *out << name_of(column); }

// The end of a key.
struct Cell {
  int calls;
  int effects;
  const char* state;
};

// One column of the table: `fence` before a service that honours keys, and before one that does not
// (there the cell says that an effect may come twice, and it has to show), and `at_most_once`.
class FaultTable : public testing::TestWithParam<Column> {
 protected:
  using Answer = Gateway::Answer;

  explicit FaultTable(std::string_view source = "queue: {}", std::string_view lease = "20s")
      : gateway_(GetParam() == Column::kFence ? Gateway::Keys::kHonoured : Gateway::Keys::kIgnored),
        bed_(consumer(source, lease)) {}

  std::string consumer(std::string_view source, std::string_view lease) const {
    return fmt::format(
        "    source: {{ {} }}\n"
        "    key: json:/id\n"
        "    strategy: {}\n"
        "    dedup: {{ lease: {} }}\n"
        "    retry: {{ attempts: 4, backoff: 10ms..20ms }}\n"
        "    handler:\n"
        "      http: {{ url: \"{}\", honours_key: {}, timeout: 60s }}\n",
        source, GetParam() == Column::kAtMostOnce ? "at_most_once" : "fence", lease, gateway_.url(),
        GetParam() == Column::kFence);
  }

  static std::string message(std::string_view id, int amount = 1) {
    return fmt::format("{{\"id\":\"{}\",\"amount\":{}}}\n", id, amount);
  }
  void send(const std::string& lines) const {
    const Ran sent = bed_.semel({"send", "payments", "-"}, {.input = lines});
    ASSERT_EQ(sent.code, 0) << sent.err;
  }
  Words running(const Words& more = {}) const {
    Words words = {"run", bed_.config(), "-o", "jsonl"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Ran run_once(const std::string& failpoint = {}) const {
    return bed_.semel({"run", "--once", "-o", "jsonl"},
                      {.environment = kNoProxy, .failpoint = failpoint});
  }
  void ends_well() const {
    const Ran ran = run_once();
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  }
  // A run whose call the gateway has, and answers when it likes to.
  void wait_for_call(const Program& program, int calls = 1) const {
    ASSERT_TRUE(comes_true([&] { return gateway_.calls() >= calls; })) << program.err();
  }
  // A run that is killed while the gateway has its call.
  void killed_in_mid_call() {
    const int before = gateway_.calls();
    gateway_.next({Answer::kNever});
    Program program(running(), {.environment = kNoProxy});
    wait_for_call(program, before + 1);
    program.signal(SIGKILL);
    ASSERT_EQ(program.wait().signal, SIGKILL) << "the fault must have fired";
  }

  std::string of_record(const std::string& key, const std::string& member) const {
    return json_at(bed_.semel({"records", "show", key, "-o", "json"}).out, "/records/0/" + member);
  }
  void expect(const std::string& key, const Cell& fence, const Cell& ignoring,
              const Cell& at_most_once) const {
    const Cell cells[] = {fence, ignoring, at_most_once};
    const Cell& cell = cells[static_cast<std::size_t>(GetParam())];
    EXPECT_EQ(gateway_.calls(key), cell.calls) << key;
    EXPECT_EQ(gateway_.effects(key), cell.effects) << key;
    EXPECT_EQ(of_record(key, "state"), cell.state) << key;
  }
  void expect(const std::string& key, const Cell& cell) const { expect(key, cell, cell, cell); }

  const Words kNoProxy = {"no_proxy=127.0.0.1"};
  Gateway gateway_;
  const TestBed bed_;
};

// The rows of a file, for each of the columns.
#define SEMEL_FAULT_TABLE(fixture)                                                               \
  INSTANTIATE_TEST_SUITE_P(                                                                      \
      Columns, fixture, testing::Values(Column::kFence, Column::kIgnoring, Column::kAtMostOnce), \
      [](const auto& info) { return name_of(info.param); })

}  // namespace semel::test
