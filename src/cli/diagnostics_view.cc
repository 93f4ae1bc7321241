#include "cli/diagnostics_view.h"

#include <fmt/format.h>

#include <string_view>

namespace semel::cli {

namespace {

// Escapes the characters that GitHub reads as the end of a property or of the line.
std::string escaped(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '%':
        out += "%25";
        break;
      case '\r':
        out += "%0D";
        break;
      case '\n':
        out += "%0A";
        break;
      case ':':
        out += property ? "%3A" : ":";
        break;
      case ',':
        out += property ? "%2C" : ",";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string_view severity_of(const config::Diagnostic& diagnostic) {
  return diagnostic.severity == config::Diagnostic::Severity::kError ? "error" : "warning";
}

}  // namespace

void add_diagnostics(json::Writer& writer, std::string_view name,
                     std::span<const config::Diagnostic> diagnostics) {
  writer.name(name).begin_array();
  for (const auto& each : diagnostics) {
    writer.begin_object()
        .member("code", each.code)
        .member("severity", severity_of(each))
        .member("message", each.message)
        .member("path", each.path)
        .member("file", each.file)
        .member("line", each.where.line)
        .member("column", each.where.column);
    writer.name("detail").begin_array();
    for (const auto& line : each.detail) writer.value(line);
    writer.end_array().member("help", each.help).member("docs", "semel explain " + each.code);
    writer.end_object();
  }
  writer.end_array();
}

std::string github_annotation(const config::Diagnostic& diagnostic) {
  std::string text = diagnostic.message;
  for (const auto& line : diagnostic.detail) text += "\n" + line;
  if (!diagnostic.help.empty()) text += "\nfix: " + diagnostic.help;
  std::string where = "file=" + escaped(diagnostic.file, true);
  if (diagnostic.where.line > 0) {
    where += fmt::format(",line={},col={}", diagnostic.where.line, diagnostic.where.column);
  }
  return fmt::format("::{} {},title={}::{}\n", severity_of(diagnostic), where, diagnostic.code,
                     escaped(text, false));
}

}  // namespace semel::cli
