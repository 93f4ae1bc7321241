#include "config/yaml_syntax.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "config/yaml_reader.h"

namespace semel::config {
namespace {

struct Phrase {
  std::string_view parser;
  std::string_view ours;
  std::string_view help;
};

// The parser's own text is never shown: it is about tokens, not about the file.
constexpr Phrase kPhrases[] = {
    {"end of map not found", "this line does not fit the indentation of the lines before it",
     "indent the fields of one map by the same number of spaces"},
    {"end of sequence not found", "this line does not fit the list before it",
     "begin each item with \"- \", all in one column"},
    {"end of map flow not found", "a { is never closed", "add the missing }, or a comma"},
    {"end of sequence flow not found", "a [ is never closed", "add the missing ], or a comma"},
    {"illegal flow end", "a ] or } that closes nothing", "remove it, or quote the text"},
    {"illegal block entry", "a \"- \" cannot stand here",
     "put the list on the lines below its field"},
    {"illegal map key", "a field cannot begin here", "quote the text, or begin a new line"},
    {"illegal map value", "a \": \" cannot stand here",
     "quote the value when it holds a colon and a space"},
    {"illegal EOF in scalar", "a quote is opened and never closed", "add the closing quote"},
    {"illegal document indicator in scalar", "a quote is opened and never closed",
     "add the closing quote"},
    {"alias not found", "an alias (*) without a name", "quote the text when it begins with *"},
    {"anchor not found", "an anchor (&) without a name", "quote the text when it begins with &"},
    {"the referenced anchor is not defined", "an alias whose anchor was not met before",
     "write the anchor (&name) above it, or quote the text when it begins with *"},
    {"illegal character found while scanning a", "the name of an alias or anchor ends badly",
     "quote the text when it begins with * or &"},
    {"unknown token", "a character that no plain value can begin with",
     "quote the value when it begins with @, ` or %"},
    {"unknown escape character", "an unknown escape in double quotes",
     "double the backslash, or use single quotes"},
    {"bad character found while scanning hex", "a bad \\x, \\u or \\U escape",
     "double the backslash, or use single quotes"},
    {"invalid unicode", "an escape that names no character", "use another escape"},
    {"tag", "a tag cannot stand here", "quote the value when it begins with !"},
    {"cannot set zero indentation", "a block of text with indentation 0",
     "remove the number behind | or >"},
    {"unexpected character in block scalar", "something stands behind | or >",
     "begin the text on the next line"},
};

// The nearest line at or before `line` (from 1) that is indented with a tab; 0: none.
int tab_line(const Report& report, std::size_t source, int line) {
  for (int at = line; at >= 1 && at > line - 3; --at) {
    const auto text = report.line(source, at);
    const auto begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) continue;
    if (text.substr(0, begin).find('\t') != std::string_view::npos) return at;
  }
  return 0;
}

// The byte at which `text` stops being UTF-8; npos: all of it is UTF-8.
std::size_t bad_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length == 0 || at + length > text.size()) return at;
    std::uint32_t code = length == 1 ? lead : lead & (0x7FU >> length);
    for (std::size_t i = 1; i < length; ++i) {
      const auto byte = static_cast<unsigned char>(text[at + i]);
      if ((byte & 0xC0U) != 0x80U) return at;
      code = (code << 6U) | (byte & 0x3FU);
    }
    const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    if (overlong || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return at;
    at += length;
  }
  return std::string_view::npos;
}

// A file that ends too early is shown where its text ends.
SourceLocation within_text(SourceLocation at, const Report& report) {
  const auto blank = [&](int line) {
    return report.line(at.source, line).find_first_not_of(" \t") == std::string_view::npos;
  };
  if (!blank(at.line)) return at;
  while (at.line > 1 && blank(at.line)) --at.line;
  at.column = static_cast<int>(report.line(at.source, at.line).size()) + 1;
  return at;
}

}  // namespace

void report_syntax(std::string_view problem, SourceLocation at, const SourceLocation& opened,
                   Report& report) {
  at = within_text(at, report);
  if (const int line = tab_line(report, at.source, at.line); line != 0) {
    const auto column = report.line(at.source, line).find('\t') + 1;
    auto& made = report.error("E006", {at.source, line, static_cast<int>(column), 1}, "",
                              "a tab in the indentation");
    made.detail.push_back("YAML counts spaces: a tab has no agreed width");
    made.help = "indent with spaces";
    return;
  }
  for (const auto& phrase : kPhrases) {
    if (problem.find(phrase.parser) == std::string_view::npos) continue;
    auto& made = report.error("E005", at, "", std::string(phrase.ours));
    made.help = phrase.help;
    const auto opening = report.line(opened.source, opened.line);
    const auto column = static_cast<std::size_t>(std::max(opened.column, 1)) - 1;
    if (column < opening.size() && (opening[column] == '{' || opening[column] == '[')) {
      made.detail.push_back("opened at " + report.spot(opened));
    }
    // Inside { } a bare ${X} opens a map of its own.
    const auto line = report.line(at.source, at.line);
    const auto variable = line.find("${");
    if (variable != std::string_view::npos && line.find('{') < variable) {
      made.help = "quote it: \"${…}\", where it stands inside of { } or [ ]";
    }
    return;
  }
  report.error("E005", at, "", "this is not YAML").help =
      "look at this line and the one before it: indentation, colons, quotes";
}

bool readable(std::string_view text, Report& report) {
  const SourceLocation whole;
  if (text.size() > kMostBytes) {
    report
        .error("E004", whole, "",
               fmt::format("the file is larger than {} MiB, the most a config may have",
                           kMostBytes >> 20))
        .help = "is it the right file?";
    return false;
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    report.error("E002", whole, "", "the file is empty").help =
        "semel init prints a starter: semel init queue/sql/sqlite > semel.yaml";
    return false;
  }
  const auto bad = std::min(bad_utf8(text), text.find('\0'));
  if (bad != std::string_view::npos) {
    const auto line =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bad), '\n');
    report
        .error("E003", whole, "",
               fmt::format("the file is not UTF-8 text: byte 0x{:02X} in line {}",
                           static_cast<unsigned char>(text[bad]), line + 1))
        .help = "save it as UTF-8, without NUL bytes";
    return false;
  }
  return true;
}

}  // namespace semel::config
