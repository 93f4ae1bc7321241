#include "config/catalog.h"

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/inputs.h"

namespace semel::config {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Codes that the sources use: literals in src/, words in the public headers' comments. Without
// std::regex, which takes seconds for all of them under a sanitizer.
std::map<std::string, std::string> used_codes() {
  std::map<std::string, std::string> used;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_quote = [](char c) { return c == '"' || c == '\''; };
  const auto is_no_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_';
  };
  const auto collect = [&](const fs::path& folder, const auto& is_border) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const auto name = entry.path().filename().string();
      const bool source = name.ends_with(".cc") || name.ends_with(".h") || name.ends_with(".sql");
      if (!source || name.ends_with("_test.cc") || name.starts_with("catalog")) continue;
      const auto text = ' ' + read(entry.path()) + ' ';
      constexpr std::size_t kSize = 4;
      for (auto at = text.find_first_of("EWDLR");
           at != std::string::npos && at + kSize < text.size();
           at = text.find_first_of("EWDLR", at + 1)) {
        if (is_digit(text[at + 1]) && is_digit(text[at + 2]) && is_digit(text[at + 3]) &&
            is_border(text[at - 1]) && is_border(text[at + kSize])) {
          used.emplace(text.substr(at, kSize), entry.path().string());
        }
      }
    }
  };
  collect(test::input("src"), is_quote);
  collect(test::input("include"), is_no_word);
  return used;
}

TEST(Catalog, HasAPageForEveryCodeThatIsUsed) {
  const auto used = used_codes();
  EXPECT_GT(used.size(), 40U);
  EXPECT_TRUE(used.contains("E012"));
  EXPECT_TRUE(used.contains("R210"));
  for (const auto& [code, file] : used) {
    EXPECT_TRUE(find_code(code)) << code << " is used in " << file;
  }
}

TEST(Catalog, EveryPageIsWholeAndStandsOnce) {
  std::set<std::string_view> seen;
  for (const auto& page : all_codes()) {
    EXPECT_TRUE(seen.insert(page.code).second) << page.code;
    EXPECT_TRUE(std::regex_match(std::string(page.code), std::regex("[EWDLR][0-9]{3}")));
    EXPECT_FALSE(page.title.empty()) << page.code;
    EXPECT_FALSE(page.why.empty()) << page.code;
    EXPECT_FALSE(page.fix.empty()) << page.code;
    EXPECT_TRUE(page.why.ends_with('.')) << page.code;
    EXPECT_TRUE(page.fix.ends_with('.')) << page.code;
  }
  for (const auto& page : topics()) {
    EXPECT_FALSE(page.text.empty()) << page.name;
    EXPECT_TRUE(page.text.ends_with('\n')) << page.name;
  }
}

// A page for a code that is never reported cannot be reached.
TEST(Catalog, HasNoPageForACodeThatIsNotUsed) {
  const auto used = used_codes();
  for (const auto& page : all_codes()) {
    EXPECT_TRUE(used.contains(std::string(page.code))) << page.code;
  }
}

TEST(Catalog, ReasonsAreAllExplained) {
  const auto header = read(test::input("include/semel/reason.h"));
  const std::regex pattern("std::string_view k[A-Za-z]+ = \"([a-z_.]+)\"");
  const auto text = find_topic("reasons")->text;
  int seen = 0;
  for (std::sregex_iterator at(header.begin(), header.end(), pattern), end; at != end; ++at) {
    EXPECT_NE(text.find((*at)[1].str()), std::string_view::npos) << (*at)[1];
    ++seen;
  }
  EXPECT_GT(seen, 8);
}

// An installed program has its own pages (semel explain), but no folder docs.
TEST(Catalog, NoTextNamesAFileThatIsNotInstalled) {
  const std::regex text("\"[^\"]*\\b[a-z_-]+\\.md\\b[^\"]*\"");
  int seen = 0;
  for (const char* folder : {"src", "include"}) {
    for (const auto& entry : fs::recursive_directory_iterator(test::input(folder))) {
      const auto name = entry.path().filename().string();
      if ((!name.ends_with(".cc") && !name.ends_with(".h")) || name.ends_with("_test.cc")) continue;
      ++seen;
      std::istringstream lines(read(entry.path()));
      for (std::string line; std::getline(lines, line);) {
        if (line.find(".md") == std::string::npos || line.find("//") < line.find('"')) continue;
        EXPECT_FALSE(std::regex_search(line, text)) << entry.path() << ": " << line;
      }
    }
  }
  EXPECT_GT(seen, 300);
}

TEST(Catalog, RightsAreThoseOfTheStoresPages) {
  const auto page = read(test::input("docs/stores/redis.md"));
  const auto begin = page.find("\n## Rights");
  const auto section = page.substr(begin, page.find("\n## ", begin + 1) - begin);
  const std::string text(find_topic("rights")->text);
  const std::regex command("\\+[a-z]+(\\|[a-z]+)?");
  int seen = 0;
  for (std::sregex_iterator at(section.begin(), section.end(), command), end; at != end; ++at) {
    EXPECT_NE(text.find(at->str()), std::string::npos) << at->str();
    ++seen;
  }
  EXPECT_GT(seen, 40);
  for (const char* store : {"postgres", "mysql"}) {
    const auto grants = read(test::input(std::string("tests/cli/") + store + "/grants.sql"));
    const std::regex grant("GRANT [^;]*;");
    ASSERT_TRUE(std::regex_search(grants, grant)) << store;
    for (std::sregex_iterator at(grants.begin(), grants.end(), grant), end; at != end; ++at) {
      EXPECT_NE(text.find(at->str()), std::string::npos) << at->str();
    }
  }
}

TEST(Catalog, ExplainsCodesInAnyCaseAndTopics) {
  const auto page = explain("e012");
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->starts_with("E012: unknown field\n\n")) << *page;
  EXPECT_NE(page->find("\n\nfix: "), std::string::npos);
  for (const auto* topic :
       {"outcomes", "guarantees", "exit-codes", "strategies", "reasons", "keys", "rights"}) {
    EXPECT_TRUE(explain(topic)) << topic;
  }
  for (const auto* reason : {"key.conflict", "too_large", "handler.exec.65", "handler.http.410"}) {
    EXPECT_EQ(explain(reason), explain("reasons")) << reason;
  }
  EXPECT_FALSE(explain("E999"));
  EXPECT_FALSE(explain(""));
  EXPECT_EQ(nearest_explained("strategy"), "strategies");
  EXPECT_EQ(nearest_explained("outcome"), "outcomes");
  EXPECT_FALSE(nearest_explained("weather"));
}

TEST(Catalog, PagesFitATerminal) {
  constexpr std::size_t kWidth = 90;
  for (const auto& page : all_codes()) {
    std::istringstream lines(*explain(page.code));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), kWidth + 10) << page.code << ": " << line;
    }
  }
}

}  // namespace
}  // namespace semel::config
