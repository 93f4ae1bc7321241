// docs/config.md lists every field of the schema with the schema's properties.
//
// SEMEL_UPDATE_GOLDEN=1 rewrites the list.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "config/config.h"
#include "config/scalars.h"
#include "config/schema.h"
#include "tests/support/inputs.h"

namespace semel::config {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFieldsBegin = "<!-- fields: begin -->\n";
constexpr std::string_view kFieldsEnd = "<!-- fields: end -->\n";

fs::path page() { return test::input("docs/config.md"); }

std::string read_page() {
  std::ifstream stream(page());
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string type_of(const Field& field) {
  const auto words = split_words(field.words);
  std::string listed;
  for (const auto word : words) listed += fmt::format("{}`{}`", listed.empty() ? "" : ", ", word);
  switch (field.shape) {
    case Shape::kWord:
    case Shape::kCode:
      return listed;
    case Shape::kList:
      return fmt::format("{}list of {}", listed.empty() ? "" : listed + " or ",
                         shape_name(field.fields.front().shape));
    case Shape::kDictionary:
      return "names, each " + type_of(field.fields.front());
    default:
      return std::string(shape_name(field.shape)) + (listed.empty() ? "" : " or " + listed);
  }
}

std::string range_of(const Field& field) {
  if (field.high == 0) return "";
  const auto show = [&](std::int64_t value) {
    switch (field.shape) {
      case Shape::kDuration:
      case Shape::kDurationRange:
        return show_duration(value);
      case Shape::kSize:
        return show_size(value);
      default:
        return std::to_string(value);
    }
  };
  if (field.low == field.high) return show(field.low);
  return fmt::format("{} … {}", show(field.low), show(field.high));
}

std::string reference() {
  std::string out = "| field | value | default | range | meaning |\n|---|---|---|---|---|\n";
  each_field([&](const std::string& path, const Field& field) {
    // The fields of `defaults` are described at the consumers that use them.
    if (field.meaning.empty() || path.starts_with("defaults.")) return;
    std::string fallback = field.required                    ? "*required*"
                           : field.one_of && !field.optional ? "*required*"
                           : default_of(field).empty()       ? ""
                                                       : fmt::format("`{}`", default_of(field));
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", path, type_of(field), fallback,
                       range_of(field), field.meaning);
  });
  return out;
}

TEST(Reference, ListsTheSchema) {
  auto text = read_page();
  const auto begin = text.find(kFieldsBegin);
  const auto end = text.find(kFieldsEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const auto from = begin + kFieldsBegin.size();
  const auto now = reference();
  if (std::getenv("SEMEL_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(page()) << text.substr(0, from) << now << text.substr(end);
    return;
  }
  EXPECT_EQ(text.substr(from, end - from), now);
}

TEST(Reference, EveryFieldHasAMeaning) {
  int seen = 0;
  each_field([&](const std::string& path, const Field& field) {
    // An item of a list or of names is described with the list.
    if (field.name.empty()) return;
    EXPECT_FALSE(field.meaning.empty()) << path;
    EXPECT_TRUE(field.meaning.ends_with('.')) << path;
    ++seen;
  });
  EXPECT_GT(seen, 50);
}

// Every block marked yaml is a config, or the part of one consumer, that is accepted.
TEST(Reference, EveryExampleIsAccepted) {
  const auto text = read_page();
  constexpr std::string_view kFence = "```yaml\n";
  LoadOptions options;
  options.env = [](const std::string& name) -> std::optional<std::string> {
    if (name == "NAME") return "orders";
    return std::nullopt;
  };
  int seen = 0;
  for (auto at = text.find(kFence); at != std::string::npos; at = text.find(kFence, at + 1)) {
    const auto from = at + kFence.size();
    const auto yaml = text.substr(from, text.find("```", from) - from);
    const auto loaded = load_text(yaml, "docs/config.md", options);
    std::string errors;
    for (const auto& each : loaded.diagnostics) errors += format(each, false);
    EXPECT_TRUE(loaded.config) << yaml << errors;
    ++seen;
  }
  EXPECT_GE(seen, 3);
}

}  // namespace
}  // namespace semel::config
