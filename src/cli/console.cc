#include "cli/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <utility>

#include "base/printable.h"
#include "system/utc_clock.h"

namespace semel::cli {

namespace {

constexpr std::size_t kBuffered = 32 << 10;
constexpr std::string_view kRed = "\x1b[1;31m";
constexpr std::string_view kReset = "\x1b[0m";
constexpr std::string_view kPaints[] = {kRed, "\x1b[1;33m", kReset};
constexpr std::string_view kWipeLine = "\r\x1b[K";

bool environment_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool want_color(Settings::Color color, bool terminal) {
  if (color != Settings::Color::kAuto) return color == Settings::Color::kAlways;
  if (!terminal || environment_set("NO_COLOR")) return false;
  const char* term = std::getenv("TERM");
  return term != nullptr && std::strcmp(term, "dumb") != 0;
}

// Writes the whole text. Returns 0, or the errno of the failure.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// The text may quote other programs, so control characters are shown by their numbers. Only Semel's
// own colors are kept, if they are wanted.
std::string for_terminal(std::string_view text, bool color) {
  constexpr std::string_view kLayout = "\n\t";
  if (!color) return printable_text(text, kLayout);
  std::string out;
  for (;;) {
    const std::size_t escape = text.find('\x1b');
    out += printable_text(text.substr(0, escape), kLayout);
    if (escape == std::string_view::npos) return out;
    text.remove_prefix(escape);
    const auto own = std::ranges::find_if(
        kPaints, [&](std::string_view sequence) { return text.starts_with(sequence); });
    const std::size_t length = own == std::end(kPaints) ? 1 : own->size();
    out += own == std::end(kPaints) ? printable_text(text.substr(0, 1)) : std::string(*own);
    text.remove_prefix(length);
  }
}

constexpr std::size_t kUsualWidth = 80;
// The width of a terminal.
std::size_t columns_of(int fd) noexcept {
  winsize size{};
  const bool told = ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return told ? size.ws_col : kUsualWidth;
}

constexpr std::size_t kLeastShown = 20;      // the least width of a last column
constexpr std::size_t kNarrowest = 8;        // of a column that may be cut, where nothing else fits
constexpr std::string_view kBetween = "  ";  // columns

}  // namespace

Console::Console(Settings settings, int out, int err)
    : settings_(std::move(settings)),
      out_(out),
      err_(err),
      out_is_terminal_(::isatty(out) == 1),
      err_is_terminal_(::isatty(err) == 1),
      color_out_(want_color(settings_.color, out_is_terminal_)),
      color_err_(want_color(settings_.color, err_is_terminal_)) {}

Console::~Console() { flush(); }

bool Console::in_is_terminal() const noexcept { return ::isatty(STDIN_FILENO) == 1; }

std::optional<std::size_t> Console::width() const noexcept {
  return out_is_terminal_ ? std::optional(columns_of(out_)) : std::nullopt;
}

void Console::out(std::string_view text) { put(for_terminal(text, color_out_)); }

void Console::out(const Table& table) {
  out(table.text(width()));
  const auto left_out = table.left_out(width());
  if (left_out.empty()) return;
  note(fmt::format("no room for {}: -o json has all", fmt::join(left_out, ", ")));
}

void Console::out_wrapped(std::string_view text, std::optional<std::size_t> hang) {
  out(wrapped(text, width(), hang));
}

void Console::out(const json::Writer& document) { put(printable_json(document.text()) + "\n"); }

void Console::put(std::string_view text) {
  const system::MutexLock lock(mutex_);
  if (settings_.format == Format::kNone || out_errno_ != 0) return;
  buffer_ += text;
  if (out_is_terminal_ || buffer_.size() >= kBuffered) flush_locked();
}

void Console::flush() {
  const system::MutexLock lock(mutex_);
  flush_locked();
}

void Console::flush_locked() {
  if (buffer_.empty()) return;
  if (progress_shown_ && out_is_terminal_) {
    write_all(err_, kWipeLine);
    progress_shown_ = false;
  }
  if (out_errno_ == 0) out_errno_ = write_all(out_, buffer_);
  buffer_.clear();
}

bool Console::out_broken() const noexcept {
  const system::MutexLock lock(mutex_);
  return out_errno_ != 0;
}

void Console::write_err(std::string_view text) {
  write_line(stamp() + for_terminal(text, color_err_));
}

void Console::write_log(const LogLine& line) {
  write_line(log_text(line, system::exact_utc_now()) + "\n");
}

void Console::write_line(std::string_view ready) {
  const system::MutexLock lock(mutex_);
  flush_locked();
  if (progress_shown_) write_all(err_, kWipeLine);
  progress_shown_ = false;
  write_all(err_, ready);
}

void Console::note(std::string_view line) {
  if (settings_.quiet > 0) return;
  if (logs_json()) return write_log(log_line(LogLevel::kInfo, line));
  warn(line);
}

void Console::warn(std::string_view line) {
  if (logs_json()) return write_log(log_line(LogLevel::kWarning, line));
  const bool plain = err_is_terminal_ && stamp().empty();
  write_err(wrapped(line, plain ? std::optional(columns_of(err_)) : std::nullopt) + "\n");
}

void Console::log(const LogLine& line) {
  if (settings_.quiet == 0 || line.level == LogLevel::kError) write_log(line);
}

void Console::progress(std::string_view line) {
  if (!err_is_terminal_ || settings_.quiet > 0 || logs_json()) return;
  const system::MutexLock lock(mutex_);
  write_all(err_, std::string(kWipeLine) + printable(line));
  progress_shown_ = true;
}

int Console::fail(const Error& error) {
  if (logs_json()) {
    write_log(log_line(error));
  } else {
    write_err(format_error(error, color_err_));
  }
  return exit_code_of(error);
}

int Console::fail(ExitCode code, std::string_view message, std::string_view fix) {
  fail({ErrorKind::kRejected, {}, std::string(message), std::string(fix)});
  return code;
}

void Console::next(std::string_view command) {
  if (text() && out_is_terminal_ && settings_.quiet == 0) out(fmt::format("  next: {}\n", command));
}

std::optional<int> Console::confirm(std::string_view question) {
  if (settings_.yes) return std::nullopt;
  if (!in_is_terminal() || !err_is_terminal_) {
    return fail(kUsage, "this needs a confirmation, and there is no terminal to ask on",
                "--yes does it; --dry-run shows what it would do");
  }
  write_err(fmt::format("{} [y/N] ", question));
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return std::nullopt;
  return kBad;
}

std::string Console::time(StoreTime time) const {
  return time_text(time, settings_.time, system::utc_now());
}

void Console::begin_log() {
  const system::MutexLock lock(mutex_);
  log_began_ = system::utc_now();
}

std::string Console::stamp() const {
  const system::MutexLock lock(mutex_);
  if (!log_began_) return {};
  const StoreTime time = system::utc_now();
  if (settings_.time != TimeStyle::kRelative) return time_text(time, settings_.time, time) + "  ";
  return "+" + duration_text(std::max(time - *log_began_, std::chrono::milliseconds(0))) + "  ";
}

int Console::close(int code) {
  int failed = 0;
  {
    const system::MutexLock lock(mutex_);
    flush_locked();
    if (progress_shown_) write_all(err_, kWipeLine);
    progress_shown_ = false;
    failed = out_errno_;
  }
  // If a reader has closed the pipe, it has read what it wanted; a full disk is an error.
  if (failed == 0 || failed == EPIPE) return code;
  fail(kBad, fmt::format("cannot write to stdout: {}", std::strerror(failed)));
  return code == kOk ? kBad : code;
}

Table::Table(std::vector<std::string> titles)
    : right_(titles.size(), false), least_(titles.size()) {
  if (!least_.empty()) least_.back() = kLeastShown;
  rows_.push_back(std::move(titles));
}

void Table::row(std::vector<std::string> cells) {
  cells.resize(right_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

void Table::align_right(std::size_t column) { right_.at(column) = true; }

void Table::may_cut(std::size_t column, std::size_t least) { least_.at(column) = least; }

void Table::may_leave_out(std::size_t column) { leaves_out_.push_back(column); }

std::size_t Table::Layout::total() const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (shown[i]) sum += widths[i] + (sum > 0 ? kBetween.size() : 0);
  }
  return sum;
}

Table::Layout Table::layout(std::optional<std::size_t> width) const {
  Layout made{std::vector<std::size_t>(right_.size(), 0), std::vector<bool>(right_.size(), true)};
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      made.widths[i] = std::max(made.widths[i], width_of(row[i]));
    }
  }
  if (!width) return made;
  Layout least = made;
  for (std::size_t i = 0; i < least_.size(); ++i) {
    if (least_[i]) least.widths[i] = std::min(least.widths[i], *least_[i]);
  }
  for (const std::size_t column : leaves_out_) {
    if (least.total() <= *width) break;
    least.shown[column] = made.shown[column] = false;
  }
  if (least.total() > *width) {
    for (std::size_t i = 0; i < least_.size(); ++i) {
      if (least_[i]) least.widths[i] = std::min(least.widths[i], kNarrowest);
    }
  }
  while (made.total() > *width) {
    std::optional<std::size_t> widest;
    for (std::size_t i = 0; i < made.widths.size(); ++i) {
      if (!made.shown[i] || made.widths[i] == least.widths[i]) continue;
      if (!widest || made.widths[i] >= made.widths[*widest]) widest = i;
    }
    if (!widest) break;
    --made.widths[*widest];
  }
  return made;
}

std::vector<std::string> Table::left_out(std::optional<std::size_t> width) const {
  std::vector<std::string> titles;
  const Layout made = layout(width);
  for (std::size_t i = 0; i < made.shown.size(); ++i) {
    if (!made.shown[i]) titles.push_back(rows_.front()[i]);
  }
  return titles;
}

std::string Table::text(std::optional<std::size_t> width) const {
  const Layout made = layout(width);
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    bool first = true;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!made.shown[i]) continue;
      const std::size_t columns = made.widths[i];
      const std::string cell = width_of(row[i]) > columns ? printable(row[i], columns - 1) : row[i];
      const std::string padding(columns - width_of(cell), ' ');
      if (!std::exchange(first, false)) line += kBetween;
      line += right_[i] ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string format_error(const Error& error, bool color) {
  constexpr std::string_view kKept = "\n\t";
  const std::string tag =
      error.code.empty() ? std::string("error:") : fmt::format("error[{}]", error.code);
  std::string out = color ? fmt::format("{}{}{} ", kRed, tag, kReset) : tag + " ";
  out += printable_text(error.message, kKept) + "\n";
  if (!error.hint.empty()) out += "  fix: " + printable_text(error.hint, kKept) + "\n";
  if (!error.code.empty()) out += "  explain: semel explain " + error.code + "\n";
  return out;
}

}  // namespace semel::cli
