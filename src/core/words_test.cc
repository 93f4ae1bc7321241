// The words that logs, metrics and JSON show, and the version.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include <fmt/format.h>

#include <semel/admin/records.h>
#include <semel/error.h>
#include <semel/guarantee.h>
#include <semel/guard.h>
#include <semel/outcome.h>
#include <semel/version.h>

namespace semel {
namespace {

template <class Enum>
void expect_words(std::size_t count) {
  std::set<std::string> words;
  for (std::size_t i = 0; i < count; ++i) words.insert(to_string(static_cast<Enum>(i)));
  EXPECT_EQ(words.size(), count);
  EXPECT_FALSE(words.contains("unknown"));
  EXPECT_STREQ(to_string(static_cast<Enum>(count)), "unknown") << "a value is not in the test";
}

TEST(Words, EachValueHasItsOwn) {
  expect_words<ErrorKind>(6);
  expect_words<Outcome::Kind>(8);
  expect_words<RecordState>(5);
  expect_words<Guarantee::Name>(6);
  expect_words<Guarantee::Effect>(6);
  expect_words<Guarantee::Loss>(4);
}

TEST(Words, AreThoseOfTheGlossary) {
  EXPECT_STREQ(to_string(ErrorKind::kInDoubt), "in_doubt");
  EXPECT_STREQ(to_string(Outcome::Kind::kDuplicate), "duplicate");
  EXPECT_STREQ(to_string(Outcome::Kind::kDiscarded), "discarded");
  EXPECT_STREQ(to_string(RecordState::kConsuming), "consuming");
  EXPECT_STREQ(to_string(Guarantee::Name::kAtLeastOnce), "at_least_once");
}

TEST(ErrorText, HasCodeMessageAndFix) {
  const Error away{ErrorKind::kUnavailable, "R250", "the server cannot be reached", "start it"};
  EXPECT_EQ(to_string(away), "[R250] the server cannot be reached; fix: start it");
  EXPECT_STREQ(SemelError(away).what(), "[R250] the server cannot be reached; fix: start it");
  EXPECT_EQ(to_string(Error{ErrorKind::kRejected, "handler.sql.syntax", "no such table", {}}),
            "no such table");
  EXPECT_EQ(to_string(Error{ErrorKind::kRejected, "E012", "error[E012] unknown field", {}}),
            "error[E012] unknown field");
  EXPECT_EQ(to_string(Error{ErrorKind::kRejected, "", "two placeholders", "give two values"}),
            "two placeholders; fix: give two values");
}

TEST(Version, IsThatOfTheHeader) {
  EXPECT_EQ(version(),
            fmt::format("{}.{}.{}", SEMEL_VERSION_MAJOR, SEMEL_VERSION_MINOR, SEMEL_VERSION_PATCH));
}

TEST(FingerprintOf, TellsContentsApart) {
  EXPECT_EQ(fingerprint_of("a"), fingerprint_of("a"));
  EXPECT_NE(fingerprint_of("a"), fingerprint_of("b"));
  EXPECT_NE(fingerprint_of(""), Fingerprint{});
  EXPECT_NE(fingerprint_of(std::string(1, '\0')), fingerprint_of(""));
}

}  // namespace
}  // namespace semel
