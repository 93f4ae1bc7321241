// An export of dead letters has the form of the wire contract.
#include <gtest/gtest.h>

#include <fstream>

#include "base/json.h"
#include "cli/letter_line.h"
#include "tests/support/spec_vectors.h"

namespace semel::cli {
namespace {

TEST(LetterSpec, EachLineIsReadAndWrittenAsItStands) {
  std::ifstream file(test::spec_path("dead_letters.jsonl"));
  LetterReader reader;
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    auto letter = reader.read(line);
    ASSERT_TRUE(letter.has_value()) << letter.error().message << "\n" << line;
    // An import assigns another id.
    json::Document document;
    ASSERT_TRUE(document.parse(line).has_value());
    const auto id = document.at(json::Pointer::parse("/id").value()).value();
    letter->id = std::get<json::Integer>(id).value.value();
    EXPECT_EQ(letter_line(*letter).text(), line);
  }
  EXPECT_GT(lines, 0);
}

}  // namespace
}  // namespace semel::cli
