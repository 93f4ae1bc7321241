#include "clients/sqs/shared_files.h"

#include "base/ascii.h"
#include "base/url_text.h"

namespace semel::sqs {

namespace {

std::string_view without_blanks(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

bool names_profile(std::string_view line, const std::string& name, bool config_file) {
  line = without_blanks(line.substr(1, line.find(']') - 1));
  if (config_file && name != "default") {
    constexpr std::string_view kWord = "profile ";
    if (!line.starts_with(kWord)) return false;
    line = without_blanks(line.substr(kWord.size()));
  }
  return line == name;
}

}  // namespace

void read_profile(std::string_view text, const std::string& name, bool config_file,
                  Profile& profile) {
  bool inside = false;
  while (!text.empty()) {
    const std::string_view whole = url_text::cut_before(text, '\n');
    std::string_view line = without_blanks(whole);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      inside = names_profile(line, name, config_file);
      continue;
    }
    // An indented line belongs to the setting above it; no such setting is read here.
    if (!inside || whole.front() == ' ' || whole.front() == '\t') continue;
    std::string key = ascii::lower(without_blanks(url_text::cut_before(line, '=')));
    profile.emplace(std::move(key), without_blanks(line));
  }
}

}  // namespace semel::sqs
