// Console: the output of a command. Data go to stdout, everything else to stderr.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/admin/records.h>
#include <semel/error.h>

#include "base/json.h"
#include "cli/exit_code.h"
#include "cli/log_line.h"
#include "cli/text.h"
#include "operate/views.h"
#include "system/mutex.h"

namespace semel::cli {

enum class Format { kText, kJson, kJsonl, kNone };

// The values of the shared flags.
struct Settings {
  std::optional<std::string> config;  // -c, or the command's CONFIG
  std::vector<std::string> sets;      // --set PATH=VALUE
  std::optional<std::string> url;     // of a running instance to ask instead of opening the store
  std::string token_file;             // --token-file; empty: none
  std::string ca_file;                // --ca-file; empty: what the system trusts
  Format format = Format::kText;
  TimeStyle time = TimeStyle::kIso;
  LogFormat log_format = LogFormat::kText;
  enum class Color { kAuto, kAlways, kNever } color = Color::kAuto;
  int quiet = 0;
  int verbose = 0;
  bool yes = false;
  bool dry_run = false;
};

class Table;

// With a log in JSON, each message on stderr is one object on its own line, in one write; only the
// question of `confirm`, which goes to a terminal, is not.
//
// Thread-safe. Text from outside (messages, errors, names) cannot control the terminal: it is
// printed in the form of base/printable.h, except for line ends, tabs and the console's own colors.
class Console {
 public:
  explicit Console(Settings settings, int out = 1, int err = 2);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  const Settings& settings() const noexcept { return settings_; }
  Format format() const noexcept { return settings_.format; }
  bool text() const noexcept { return settings_.format == Format::kText; }
  bool logs_json() const noexcept { return settings_.log_format == LogFormat::kJson; }
  bool out_is_terminal() const noexcept { return out_is_terminal_; }
  bool err_is_terminal() const noexcept { return err_is_terminal_; }
  bool in_is_terminal() const noexcept;
  // The width of the terminal on stdout, in columns; none if stdout is not a terminal.
  std::optional<std::size_t> width() const noexcept;
  // How much of a text a line on stdout shows: `most` characters on a terminal; otherwise 0, which
  // means all.
  std::size_t shown(std::size_t most) const noexcept { return out_is_terminal_ ? most : 0; }
  bool color_out() const noexcept { return color_out_; }
  bool color_err() const noexcept { return color_err_; }

  // Writes data to stdout; on a terminal immediately, otherwise buffered until a flush.
  void out(std::string_view text);
  // Writes the table, cut to the terminal where stdout is one, and names the columns that had no
  // room.
  void out(const Table& table);
  // Writes sentences, broken into lines where stdout is a terminal.
  void out_wrapped(std::string_view text, std::optional<std::size_t> hang = 2);
  // Writes a whole JSON value on its own line.
  void out(const json::Writer& document);
  void flush() SEMEL_EXCLUDES(mutex_);
  // Whether stdout is closed or full: nothing more is written to it.
  bool out_broken() const noexcept SEMEL_EXCLUDES(mutex_);

  // From now on each line on stderr begins with the time; `stamp` returns it for other lines.
  void begin_log() SEMEL_EXCLUDES(mutex_);
  // The time in the style of --time, followed by two blanks; `relative` counts from begin_log.
  // Empty before begin_log.
  std::string stamp() const SEMEL_EXCLUDES(mutex_);

  // A line on stderr that -q suppresses.
  void note(std::string_view line);
  // A line on stderr that is always printed.
  void warn(std::string_view line);
  // One line of the JSON log; -q suppresses lines that are not errors.
  void log(const LogLine& line);
  // A line on stderr that the next one replaces; printed only on a terminal and without -q.
  void progress(std::string_view line) SEMEL_EXCLUDES(mutex_);

  // Prints the error in the form that all errors have; returns its exit code.
  int fail(const Error& error);
  int fail(ExitCode code, std::string_view message, std::string_view fix = {});

  // Suggests the likely next command; printed only on a terminal and without -q.
  void next(std::string_view command);

  // Asks on the terminal. Returns nothing if the answer is yes, otherwise the exit code. Without a
  // terminal and without --yes it prints the error.
  std::optional<int> confirm(std::string_view question);

  std::string time(StoreTime time) const;

  // Flushes and returns `code`, or an error's code if the output could not be written although its
  // reader still wanted it.
  int close(int code) SEMEL_EXCLUDES(mutex_);

 private:
  void put(std::string_view text) SEMEL_EXCLUDES(mutex_);
  void write_err(std::string_view text) SEMEL_EXCLUDES(mutex_);
  void write_log(const LogLine& line) SEMEL_EXCLUDES(mutex_);
  void write_line(std::string_view ready) SEMEL_EXCLUDES(mutex_);
  void flush_locked() SEMEL_REQUIRES(mutex_);

  Settings settings_;
  int out_;
  int err_;
  bool out_is_terminal_;
  bool err_is_terminal_;
  bool color_out_;
  bool color_err_;
  mutable system::Mutex mutex_;
  std::string buffer_ SEMEL_GUARDED_BY(mutex_);
  int out_errno_ SEMEL_GUARDED_BY(mutex_) = 0;
  bool progress_shown_ SEMEL_GUARDED_BY(mutex_) = false;
  std::optional<StoreTime> log_began_ SEMEL_GUARDED_BY(mutex_);
};

using operate::document;

// How far tables cut the columns that most of them have.
inline constexpr std::size_t kConsumerLeast = 12;
inline constexpr std::size_t kKeyLeast = 12;
inline constexpr std::size_t kReasonLeast = 16;

// A table whose columns are as wide as their contents, with two blanks between them.
class Table {
 public:
  explicit Table(std::vector<std::string> titles);
  // `cells`: as many as there are titles.
  void row(std::vector<std::string> cells);
  // Aligns the column to the right, as figures are.
  void align_right(std::size_t column);
  // With a width, cells of the column may be cut, down to `least` characters, and further where the
  // table does not fit otherwise. The last column may be without this.
  void may_cut(std::size_t column, std::size_t least);
  // With a width, the column is left out if the table does not fit otherwise; the first one that
  // was named goes first.
  void may_leave_out(std::size_t column);
  // With a width, lines fit if what may be cut and left out allows it. The widest columns are cut
  // first.
  std::string text(std::optional<std::size_t> width = std::nullopt) const;
  // The titles of the columns that `text` leaves out.
  std::vector<std::string> left_out(std::optional<std::size_t> width) const;

 private:
  struct Layout {
    std::vector<std::size_t> widths;
    std::vector<bool> shown;
    std::size_t total() const;
  };
  Layout layout(std::optional<std::size_t> width) const;

  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> right_;
  std::vector<std::optional<std::size_t>> least_;  // of the columns that may be cut
  std::vector<std::size_t> leaves_out_;
};

// "error[R207] …" with its fix, in the form that all errors have.
std::string format_error(const Error& error, bool color);

}  // namespace semel::cli
