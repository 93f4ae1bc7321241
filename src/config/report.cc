#include "config/report.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/passwords.h"
#include "base/printable.h"
#include "base/utf8.h"

namespace semel::config {
namespace {

constexpr std::size_t kQuotedMost = 60;    // bytes of a value that a message repeats
constexpr std::size_t kExcerptMost = 160;  // bytes of a line that an excerpt shows
constexpr std::size_t kExcerptLead = 60;   // of these bytes, before the marked place
constexpr std::size_t kSpotColumn = 76;    // where a terminal line shows the place

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    auto line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

// Cuts between characters, never inside one.
std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && continues(text[most])) --most;
  return text.substr(0, most);
}

// Replaces each character by one character, so that markers below an excerpt stay aligned.
std::string printable(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string out;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text), 1);
    const std::string_view character = text.substr(0, length);
    if (length == 1 && ascii::is_control(character[0])) {
      out += ' ';
    } else if (utf8_length(text) == 0 || is_unprintable(character)) {
      out += kReplacement;
    } else {
      out += character;
    }
    text.remove_prefix(length);
  }
  return out;
}

// Makes a part of a message printable; it may have several lines.
std::string printable_lines(std::string_view text) { return printable_text(text, "\n\t"); }

}  // namespace

std::string in_quotes(std::string_view text) {
  const auto told = without_passwords(text);
  const auto shown = cut(told, kQuotedMost);
  std::string out;
  for (std::string_view rest = shown; !rest.empty();) {
    if (ascii::is_control(rest[0])) {
      out += ' ';
      rest.remove_prefix(1);
    } else {
      take_printable(out, rest);
    }
  }
  return fmt::format("\"{}{}\"", out, shown.size() < told.size() ? "…" : "");
}

Report::Report(std::string file, std::string_view text) {
  sources_.push_back({std::move(file), {}, split_lines(text)});
}

std::size_t Report::add_source(std::string name, std::string text) {
  // The text is one line and is shown whole: a second line of a command line cannot be pointed at.
  sources_.push_back({std::move(name), std::move(text), {}});
  return sources_.size() - 1;
}

std::string_view Report::line(std::size_t source, int line) const {
  const auto& lines = sources_[source].lines;
  if (line < 1 || static_cast<std::size_t>(line) > lines.size()) return {};
  return lines[static_cast<std::size_t>(line) - 1];
}

std::string Report::spot(const SourceLocation& place) const {
  if (place.line == 0) return sources_[place.source].name;
  return fmt::format("{}:{}:{}", sources_[place.source].name, place.line, place.column);
}

std::string Report::excerpt(const SourceLocation& place) const {
  if (!sources_[place.source].owned.empty()) {
    const auto whole = without_passwords(sources_[place.source].owned);
    return fmt::format("  {}", printable(cut(whole, kExcerptMost)));
  }
  const auto blotted = blotted_passwords(line(place.source, place.line));
  std::string_view text = blotted;
  if (text.find_first_not_of(" \t") == std::string_view::npos) return {};
  auto before = std::min(text.size(), static_cast<std::size_t>(std::max(place.column, 1)) - 1);
  std::string lead;
  if (before > kExcerptLead && text.size() > kExcerptMost) {
    auto skipped = before - kExcerptLead;
    while (skipped < before && continues(text[skipped])) ++skipped;
    text.remove_prefix(skipped);
    before -= skipped;
    lead = "… ";
  }
  const auto shown = cut(text, kExcerptMost);
  const auto number = std::to_string(place.line);
  const auto width = std::min(place.width, shown.size() - std::min(before, shown.size()));
  const auto marked = characters(shown.substr(std::min(before, shown.size()), width));
  return fmt::format("  {} |  {}{}{}\n  {:{}} |  {:{}}{}", number, lead, printable(shown),
                     shown.size() < text.size() ? " …" : "", "", number.size(), "",
                     characters(lead) + characters(shown.substr(0, std::min(before, shown.size()))),
                     std::string(std::max<std::size_t>(marked, 1), '~'));
}

Diagnostic& Report::add(Diagnostic::Severity severity, std::string_view code,
                        const SourceLocation& place, std::string path, std::string message) {
  Diagnostic made;
  made.severity = severity;
  made.code = code;
  made.message = std::move(message);
  made.path = std::move(path);
  made.file = sources_[place.source].name;
  made.where = {place.line, place.column};
  if (!full()) made.excerpt = excerpt(place);
  entries_.push_back({place, std::move(made)});
  return entries_.back().diagnostic;
}

Diagnostic& Report::error(std::string_view code, const SourceLocation& place, std::string path,
                          std::string message) {
  ++errors_;
  return add(Diagnostic::Severity::kError, code, place, std::move(path), std::move(message));
}

Diagnostic& Report::warning(std::string_view code, const SourceLocation& place, std::string path,
                            std::string message) {
  return add(Diagnostic::Severity::kWarning, code, place, std::move(path), std::move(message));
}

std::vector<Diagnostic> Report::take() {
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.place.source, a.place.line, a.place.column) <
           std::tie(b.place.source, b.place.line, b.place.column);
  });
  std::vector<Diagnostic> out;
  const auto left_out = entries_.size() > kMostShown ? entries_.size() - kMostShown : 0;
  if (left_out > 0) {
    // Errors first: a warning must never displace the error that prevents loading.
    std::stable_partition(entries_.begin(), entries_.end(), [](const Entry& entry) {
      return entry.diagnostic.severity == Diagnostic::Severity::kError;
    });
    entries_.resize(kMostShown);
  }
  out.reserve(entries_.size());
  for (auto& entry : entries_) out.push_back(std::move(entry.diagnostic));
  if (left_out > 0) {
    out.back().detail.push_back(fmt::format("and {} more, which are not shown", left_out));
  }
  entries_.clear();
  return out;
}

std::string format(const Diagnostic& diagnostic, bool color) {
  const bool error = diagnostic.severity == Diagnostic::Severity::kError;
  const std::string_view word = error ? "error" : "warning";
  std::string spot = printable_text(diagnostic.file);
  if (diagnostic.where.line > 0) {
    spot += fmt::format(":{}:{}", diagnostic.where.line, diagnostic.where.column);
  }
  const auto head =
      fmt::format("{}[{}] {}", word, diagnostic.code, printable_lines(diagnostic.message));
  const auto used = characters(head);
  const auto gap = used + 2 < kSpotColumn ? kSpotColumn - used : 2;
  std::string out;
  if (color) {
    const std::string_view paint = error ? "\x1b[1;31m" : "\x1b[1;33m";
    const auto tag = word.size() + diagnostic.code.size() + 2;
    out = fmt::format("{}{}\x1b[0m{}", paint, head.substr(0, tag), head.substr(tag));
  } else {
    out = head;
  }
  if (!spot.empty()) out += fmt::format("{:{}}{}", "", gap, spot);
  out += '\n';
  if (!diagnostic.excerpt.empty()) out += diagnostic.excerpt + '\n';
  for (const auto& line : diagnostic.detail) out += "  " + printable_lines(line) + '\n';
  if (!diagnostic.help.empty()) out += "  fix: " + printable_lines(diagnostic.help) + '\n';
  return out;
}

}  // namespace semel::config
