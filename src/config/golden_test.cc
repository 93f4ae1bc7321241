// Every case of testdata/*.txt: a config and the exact diagnostics for it.
//
// SEMEL_UPDATE_GOLDEN=1 writes the current diagnostics into the files: read the difference before
// keeping it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/config.h"
#include "tests/support/inputs.h"

namespace semel::config {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string name;
  std::vector<std::string> sets;
  std::string yaml;
  std::string expected;
};

constexpr std::string_view kCaseBegin = "=== ";
constexpr std::string_view kExpected = "--- expected";
constexpr std::string_view kSet = " --set ";

fs::path folder() { return test::input("src/config/testdata"); }

std::vector<Case> read_cases(const fs::path& file) {
  std::ifstream stream(file);
  std::vector<Case> cases;
  bool expected = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(kCaseBegin)) {
      Case begun;
      std::string rest = line.substr(kCaseBegin.size());
      for (auto at = rest.rfind(kSet); at != std::string::npos; at = rest.rfind(kSet)) {
        begun.sets.insert(begun.sets.begin(), rest.substr(at + kSet.size()));
        rest.resize(at);
      }
      begun.name = rest;
      cases.push_back(begun);
      expected = false;
    } else if (line == kExpected) {
      expected = true;
    } else if (!cases.empty()) {
      (expected ? cases.back().expected : cases.back().yaml) += line + "\n";
    }
  }
  return cases;
}

void write_cases(const fs::path& file, const std::vector<Case>& cases) {
  std::ofstream stream(file);
  for (const auto& each : cases) {
    stream << kCaseBegin << each.name;
    for (const auto& set : each.sets) stream << kSet << set;
    stream << "\n" << each.yaml << kExpected << "\n" << each.expected;
  }
}

std::string said(const Case& each) {
  LoadOptions options;
  options.sets = each.sets;
  options.env = [](const std::string& name) -> std::optional<std::string> {
    if (name == "PRESENT") return "here";
    return std::nullopt;
  };
  const auto loaded = load_text(each.yaml, "semel.yaml", options);
  std::string out;
  for (const auto& diagnostic : loaded.diagnostics) out += format(diagnostic, false) + "\n";
  for (const auto& note : loaded.notes) out += "note: " + format(note, false) + "\n";
  out += loaded.config ? "accepted\n" : "refused\n";
  return out;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, SaysExactlyThis) {
  const auto file = folder() / (GetParam() + ".txt");
  auto cases = read_cases(file);
  ASSERT_FALSE(cases.empty());
  const bool update = std::getenv("SEMEL_UPDATE_GOLDEN") != nullptr;
  for (auto& each : cases) {
    const auto now = said(each);
    if (!update) {
      EXPECT_EQ(now, each.expected) << "case: " << each.name;
    }
    each.expected = now;
  }
  if (update) write_cases(file, cases);
}

std::vector<std::string> files() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Config, Golden, testing::ValuesIn(files()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace semel::config
