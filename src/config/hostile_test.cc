// Files made to break the reader: each is an error, without a crash. A reader that took more than
// linear time for one would not end within the test's own time.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "config/config.h"
#include "tests/support/rounds.h"

namespace semel::config {
namespace {

LoadOptions no_env() {
  LoadOptions options;
  options.env = [](const std::string&) { return std::nullopt; };
  return options;
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

// A quarter of what fills a file, which still takes minutes where more than linear time is needed;
// all of it at night.
std::size_t many(std::size_t most) { return test::is_night() ? most : most / 4; }

// The code of the first error.
std::string refused(const std::string& yaml) {
  const auto loaded = load_text(yaml, "semel.yaml", no_env());
  EXPECT_FALSE(loaded.config);
  for (const auto& each : loaded.diagnostics) {
    if (each.severity == Diagnostic::Severity::kError) return each.code;
  }
  return "none";
}

TEST(Hostile, DeepNesting) {
  for (const std::size_t depth : {100U, 1'000U, 100'000U}) {
    EXPECT_EQ(refused(repeated("[", depth) + repeated("]", depth)), "E007") << depth;
    EXPECT_EQ(refused("a: " + repeated("{a: ", depth) + repeated("}", depth)), "E007") << depth;
    EXPECT_NE(refused(repeated("[", depth)), "none") << depth;
    EXPECT_NE(refused(repeated("{a: ", depth)), "none") << depth;
    EXPECT_EQ(refused(repeated("- ", depth)), "E007") << depth;
    EXPECT_NE(refused(repeated("? ", depth)), "none") << depth;
    EXPECT_NE(refused(repeated("a: ", depth)), "none") << depth;
    EXPECT_NE(refused(repeated("[{", depth)), "none") << depth;
  }
  std::string stairs;
  for (std::size_t i = 0; i < 1'000; ++i) stairs += std::string(i, ' ') + "a:\n";
  EXPECT_EQ(refused(stairs), "E007");
}

TEST(Hostile, AliasBombs) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'j'; ++c) {
    const std::string before = "*" + std::string(1, static_cast<char>(c - 1));
    bomb += fmt::format("{0}: &{0} [{1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}]\n", c, before);
  }
  EXPECT_EQ(refused(bomb), "E008");
  std::string text = "a: &a \"" + std::string(500'000, 'x') + "\"\nb: [";
  text += repeated("*a, ", 1'000) + "*a]\n";
  EXPECT_EQ(refused(text), "E008");
  std::string deep = "a0: &a0 " + repeated("[", 30) + repeated("]", 30) + "\n";
  for (int i = 1; i < 100; ++i) {
    deep +=
        fmt::format("a{0}: &a{0} {1}*a{2}{3}\n", i, repeated("[", 30), i - 1, repeated("]", 30));
  }
  EXPECT_EQ(refused(deep), "E007");
  EXPECT_EQ(refused("a: &a { b: *a }"), "E008");
}

TEST(Hostile, ManyValues) {
  EXPECT_EQ(refused("a: [" + repeated("a,", many(440'000)) + "]"), "E008");
  std::string names;
  for (std::size_t i = 0; i < many(20'000); ++i) names += fmt::format("f{}: 1\n", i);
  EXPECT_EQ(refused(names), "E012");
  std::string consumers = "consumers:\n";
  for (std::size_t i = 0; i < many(1'000); ++i) {
    consumers += fmt::format("  - {{ name: c{}, source: {{ stdin: {{}} }}, key: json:/id }}\n", i);
  }
  EXPECT_EQ(refused(consumers), "E026");
}

TEST(Hostile, LongLinesAndNames) {
  EXPECT_EQ(refused(std::string(many(1'000'000), 'a') + ": b"), "E005");
  EXPECT_EQ(refused("consumers: " + std::string(many(1'000'000), ' ') + "x"), "E011");
  EXPECT_NE(refused("? " + std::string(many(500'000), 'a') + "\n: b"), "none");
  EXPECT_EQ(refused("a: " + repeated("b ", many(400'000))), "E012");
  EXPECT_EQ(refused(repeated("'", many(900'000) + 1)), "E005");
  EXPECT_EQ(refused(repeated("#", many(1'000'000))), "E002");
  EXPECT_NE(refused(repeated("\n", many(1'000'000)) + "a"), "none");
  EXPECT_NE(refused(repeated("&a ", many(300'000))), "none");
  EXPECT_NE(refused(repeated("!a ", many(300'000))), "none");
  EXPECT_NE(refused(repeated("--- ", many(200'000))), "none");
  EXPECT_NE(refused(repeated("%a\n", many(300'000))), "none");
  EXPECT_NE(refused("a: |" + repeated("\n ", many(300'000))), "none");
  EXPECT_NE(refused("a: >\n" + repeated(" b\n\n", many(200'000))), "none");
  EXPECT_NE(refused(repeated("${", many(400'000))), "none");
  EXPECT_NE(refused("a: \"" + repeated("${X:-", many(150'000)) + "\""), "none");
  EXPECT_NE(refused("a: \"" + repeated("\\x41", many(200'000)) + "\""), "none");
}

TEST(Hostile, ControlCharactersNeverReachTheTerminal) {
  const auto loaded = load_text("consumers:\n  - name: \"\\e[31mred\\a\"\n    \"so\\e[0mrce\": 1\n",
                                "semel.yaml", no_env());
  ASSERT_FALSE(loaded.config);
  for (const auto& each : loaded.diagnostics) {
    const auto text = format(each, false);
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find('\a'), std::string::npos);
  }
}

constexpr std::string_view kGood = R"yaml(version: 1
store: { sqlite: { path: "${DATA:-semel.db}" }, on_unavailable: fail }
defaults:
  retry: &retry { attempts: 8, backoff: 1s..5m, jitter: 0.2 }
consumers:
  - name: payments   # a comment
    source: { file: { path: 'in.jsonl', from: start } }
    key: { from: [json:/id, header:X], join: true, fingerprint: [json:/a] }
    retry: *retry
    limits: { key: 64KiB }
    handler:
      sql:
        params: { id: json:/id, n: { from: json:/n, type: integer } }
        statements:
          - |
            UPDATE t SET a = a + :n
            WHERE id = :id
          - { sql: "INSERT INTO t(a) VALUES (:id)", expect_rows: 1, otherwise: dead }
        on_unique_violation: { t(a): duplicate }
)yaml";

std::string mutated(std::mt19937_64& random) {
  static constexpr std::string_view kPieces[] = {
      "{",    "}",     "[",    "]",  ":",   ": ",   "- ",    "\n", "\n  ", "\t",
      "\"",   "'",     "&a ",  "*a", "!!x", "|",    ">",     "${", "}",    "#",
      "? ",   "---\n", "<<: ", ",",  "\\",  "\xc3", "\xff",  "~",  "null", "yes",
      "0x1F", "1e9",   ".inf", "%",  "@",   "`",    "...\n", "\r", "  "};
  std::string text(kGood);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t changes = 1 + below(4); changes > 0 && !text.empty(); --changes) {
    const auto at = below(text.size());
    switch (below(6)) {
      case 0:
        text.erase(at, 1 + below(8));
        break;
      case 1:
        text.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      case 2:
        text[at] = static_cast<char>(random() & 0xFFU);
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), below(40)));
        break;
      case 4:
        text.resize(at);
        break;
      default:
        std::swap(text[at], text[below(text.size())]);
        break;
    }
  }
  return text;
}

TEST(Hostile, RandomChangesNeverCrashOrHang) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  ASSERT_TRUE(load_text(kGood, "semel.yaml", no_env()).config);
  std::mt19937_64 random(seed);
  std::size_t refusals = 0;
  const std::size_t changes = test::rounds(3'000);
  for (std::size_t i = 0; i < changes; ++i) {
    const auto text = mutated(random);
    const auto loaded = load_text(text, "semel.yaml", no_env());
    const bool errors =
        std::any_of(loaded.diagnostics.begin(), loaded.diagnostics.end(),
                    [](const auto& each) { return each.severity == Diagnostic::Severity::kError; });
    EXPECT_EQ(loaded.config.has_value(), !errors) << text;
    for (const auto& each : loaded.diagnostics) EXPECT_FALSE(format(each, true).empty());
    refusals += errors ? 1 : 0;
  }
  EXPECT_GT(refusals, changes / 6);
}

}  // namespace
}  // namespace semel::config
