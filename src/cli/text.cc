#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/iso_time.h"
#include "base/number_text.h"

namespace semel::cli {

std::string grouped(std::uint64_t number) { return grouped_digits(number, ' '); }

std::string counted(std::uint64_t number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", grouped(number), number == 1 ? one : many);
}

std::string took(std::chrono::nanoseconds time) {
  const double us = static_cast<double>(time.count()) / 1e3;
  if (us < 99.5) return fmt::format("{:.0f} µs", us);
  if (us < 99'500) return fmt::format("{:.1f} ms", us / 1e3);
  if (us < 999'500) return fmt::format("{:.0f} ms", us / 1e3);
  return fmt::format("{:.1f} s", us / 1e6);
}

std::string duration_text(std::chrono::milliseconds time) { return rough_duration(time); }

std::size_t width_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

namespace {

bool is_excerpt(std::string_view line) {
  const std::size_t mark = line.find_first_not_of(" 0123456789");
  return mark != std::string_view::npos && mark > 0 && line[mark] == '|';
}

// The column of the text behind the first two blanks, if it leaves room for text.
std::optional<std::size_t> column_below_gap(std::string_view line, std::size_t indent,
                                            std::size_t width) {
  const std::size_t gap = line.find("  ", indent);
  if (gap == std::string_view::npos) return std::nullopt;
  const std::size_t column = width_of(line.substr(0, line.find_first_not_of(' ', gap)));
  return column <= width / 2 ? std::optional(column) : std::nullopt;
}

// Appends the line, without its line end.
void wrap_line(std::string& out, std::string_view line, std::size_t width,
               std::optional<std::size_t> hang) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t begin =
      hang ? indent + *hang : column_below_gap(line, indent, width).value_or(indent);
  std::size_t column = indent;
  out.append(indent, ' ');
  line.remove_prefix(indent);
  for (bool first = true; !line.empty(); first = false) {
    const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t end = std::min(line.find(' ', blanks), line.size());
    const std::string_view word = line.substr(blanks, end - blanks);
    if (!first && column + blanks + width_of(word) > width) {
      column = begin;
      out += '\n';
      out.append(column, ' ');
    } else {
      column += blanks;
      out.append(blanks, ' ');
    }
    out += word;
    column += width_of(word);
    line.remove_prefix(end);
  }
}

}  // namespace

std::string wrapped(std::string_view text, std::optional<std::size_t> width,
                    std::optional<std::size_t> hang) {
  if (!width) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (width_of(line) <= *width || is_excerpt(line)) {
      out += line;
    } else {
      wrap_line(out, line, *width, hang);
    }
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string time_text(StoreTime time, TimeStyle style, StoreTime now) {
  const std::int64_t ms = time.time_since_epoch().count();
  if (style == TimeStyle::kRaw) return std::to_string(ms);
  if (style == TimeStyle::kRelative) {
    return time > now ? "in " + duration_text(time - now) : duration_text(now - time) + " ago";
  }
  return iso_time(time);
}

}  // namespace semel::cli
