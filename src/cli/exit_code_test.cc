#include "cli/exit_code.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "config/catalog.h"

namespace semel::cli {
namespace {

constexpr ErrorKind kEveryKind[] = {ErrorKind::kUnavailable,      ErrorKind::kInDoubt,
                                    ErrorKind::kRetryTransaction, ErrorKind::kBlocked,
                                    ErrorKind::kRejected,         ErrorKind::kLimit};

Error error(ErrorKind kind, std::string code) { return {kind, std::move(code), "…", {}}; }

// The numbers at the beginning of lines of `semel explain exit-codes`.
std::set<int> documented_codes() {
  std::set<int> codes;
  std::istringstream lines{std::string(config::find_topic("exit-codes")->text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.front() >= '0' && line.front() <= '9') codes.insert(std::stoi(line));
  }
  return codes;
}

TEST(ExitCode, OfEachCodeOfTheCatalogIsThatOfItsPage) {
  const auto documented = documented_codes();
  ASSERT_TRUE(documented.contains(kConfig));
  int seen = 0;
  for (const auto& page : config::all_codes()) {
    if (page.exit == 0) continue;
    ++seen;
    EXPECT_TRUE(documented.contains(page.exit)) << page.code << " " << page.exit;
    for (const ErrorKind kind : kEveryKind) {
      EXPECT_EQ(exit_code_of(error(kind, std::string(page.code))), page.exit) << page.code;
    }
    const auto text = config::explain(page.code);
    EXPECT_NE(text->find("\nexit code: " + std::to_string(page.exit) + "\n"), std::string::npos)
        << page.code;
  }
  EXPECT_GT(seen, 100);
}

// Warnings, findings of lint-sql about a statement, and answers to the sender of a request end no
// command.
TEST(ExitCode, IsThereForEachCodeThatIsAnError) {
  for (const auto& page : config::all_codes()) {
    const bool answered = page.code >= "R323" && page.code <= "R329";
    const bool ends = page.code.front() != 'W' && page.code.front() != 'L' && !answered;
    EXPECT_EQ(page.exit != 0, ends) << page.code;
  }
}

// A service manager must not restart a run that only a change can repair, and must not give up a
// run whose trouble may pass.
TEST(ExitCode, FitsWhatThePageSays) {
  const auto says = [](const config::CodePage& page, std::string_view word) {
    return page.title.find(word) != std::string_view::npos;
  };
  int logins = 0, rights = 0, away = 0;
  for (const auto& page : config::all_codes()) {
    if (says(page, "the login")) {
      EXPECT_EQ(page.exit, kConfig) << page.code;
      ++logins;
    }
    // doctor ends with 1 whatever it finds.
    const bool found = page.code.front() == 'D';
    if (!found && (says(page, "a right is missing") || says(page, "may not be"))) {
      EXPECT_EQ(page.exit, kNoPermission) << page.code;
      ++rights;
    }
    if (says(page, "answers") || says(page, "cannot be reached")) {
      EXPECT_EQ(page.exit, kUnavailable) << page.code;
      ++away;
    }
  }
  EXPECT_GE(logins, 3);
  EXPECT_GE(rights, 4);
  EXPECT_GE(away, 3);
}

TEST(ExitCode, WithoutAPageIsThatOfItsKind) {
  EXPECT_EQ(exit_code_of(error(ErrorKind::kUnavailable, "")), kUnavailable);
  EXPECT_EQ(exit_code_of(error(ErrorKind::kBlocked, "")), kUnavailable);
  EXPECT_EQ(exit_code_of(error(ErrorKind::kRejected, "")), kBad);
  EXPECT_EQ(exit_code_of(error(ErrorKind::kLimit, "")), kBad);
}

}  // namespace
}  // namespace semel::cli
