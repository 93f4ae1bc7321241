// Words of others on a terminal: whatever command shows them, none acts on it.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tests/cli/program.h"

namespace semel::test {
namespace {

// Escape and C1, next line, line separator, override, isolate, mark.
constexpr std::string_view kActing[] = {"\x1B",         "\xC2\x9B",     "\xC2\x85", "\xE2\x80\xA8",
                                        "\xE2\x80\xAE", "\xE2\x81\xA6", "\xD8\x9C"};

// Hostile text for every field that a sender controls.
std::string evil(std::string_view name) {
  std::string text(name);
  for (const std::string_view one : kActing) text += one;
  return text + "z";
}

// Its messages end as dead letters, with what they hold in their errors.
class PrintableTest : public ::testing::Test {
 protected:
  PrintableTest()
      : bed_(
            "    source: { queue: {} }\n"
            "    key: json:/id\n"
            "    handler: { exec: [/bin/sh, -c, 'cat >&2; exit 65'] }\n") {
    const std::string key = evil("k-1");
    EXPECT_EQ(bed_.semel({"send", "payments",
                          json::Writer().begin_object().member("id", key).end_object().text(),
                          "--header", "note=" + evil("h")})
                  .code,
              0);
  }

  // Neither in what it says nor in what it complains of.
  void expect_printable(const Words& words) {
    const Ran ran = bed_.semel(words);
    for (const std::string_view one : kActing) {
      EXPECT_EQ(ran.out.find(one), std::string::npos) << words.front() << ": " << ran.out;
      EXPECT_EQ(ran.err.find(one), std::string::npos) << words.front() << ": " << ran.err;
    }
    EXPECT_NE((ran.out + ran.err).find("\\u202e"), std::string::npos)
        << words.front() << " did not show it: " << ran.out << ran.err;
  }

  TestBed bed_;
};

TEST_F(PrintableTest, WhatARunAndItsLettersShow) {
  expect_printable({"run", "--once", "-vv"});
  for (const Words& words : std::vector<Words>{{"dlq", "list"},
                                               {"dlq", "show", "1"},
                                               {"dlq", "replay", "1", "--dry-run"},
                                               {"dlq", "export"},
                                               {"records", "list"},
                                               {"records", "show", evil("k-1")},
                                               {"records", "show", evil("nobody")},
                                               {"records", "unlock", "--all-" + evil("")},
                                               {"records", "forget", evil("k-1"), "-n"}}) {
    expect_printable(words);
    Words as_json = words;
    as_json.insert(as_json.end(), {"-o", "json"});
    if (words[1] != "export") expect_printable(as_json);
  }
  EXPECT_EQ(json_at(bed_.semel({"dlq", "show", "1", "-o", "json"}).out, "/dead_letter/key"),
            evil("k-1"))
      << "a reader of JSON gets it whole";
}

TEST_F(PrintableTest, WhatAnOperatorGaveAndAConfigHolds) {
  ASSERT_EQ(bed_.semel({"consumers", "pause", "payments", "--reason", evil("why")}).code, 0);
  expect_printable({"status"});
  expect_printable({"status", "-o", "json"});
  expect_printable({"consumers", "list"});
  expect_printable({"consumers", "list", "-o", "json"});
  expect_printable({"run", "--once"});
  expect_printable({"consumers", "pause", evil("nobody")});
  expect_printable({"records", "list", "--state", evil("state")});
  expect_printable({evil("command")});
  expect_printable({"config", "show", "--set", "store.sqlite.path=" + evil("p")});
  write_file(bed_.file("evil.yaml"),
             "version: 1\nstore: { sqlite: { path: " + evil("p") + " } }\nconsumers: []\n");
  const Ran checked = run({"check", bed_.file("evil.yaml")});
  for (const std::string_view one : kActing) {
    EXPECT_EQ((checked.out + checked.err).find(one), std::string::npos) << checked.out;
  }
}

}  // namespace
}  // namespace semel::test
