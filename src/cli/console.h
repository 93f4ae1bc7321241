// Console: where a command's answer goes. Data on stdout, all else on stderr.
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

// The shared flags, as they were given.
struct Settings {
  std::optional<std::string> config;  // -c, or the command's CONFIG
  std::vector<std::string> sets;      // --set PATH=VALUE
  std::optional<std::string> url;     // of a run that is asked, in place of opening the store
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

// With a log in JSON, each thing said on stderr is one object on a line of its own, in one write;
// only the question of `confirm`, which a terminal gets, is none.
//
// Safe for several threads. Words of others (messages, errors, names) cannot act on a terminal:
// what it prints is in the form of base/printable.h, but for line ends, tabs and its own colors.
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
  // The columns of the terminal that stdout is; none where it is no terminal.
  std::optional<std::size_t> width() const noexcept;
  // How much of a text a line on stdout shows: `most` characters on a terminal; elsewhere 0, all.
  std::size_t shown(std::size_t most) const noexcept { return out_is_terminal_ ? most : 0; }
  bool color_out() const noexcept { return color_out_; }
  bool color_err() const noexcept { return color_err_; }

  // Data, on stdout; buffered until flush, or at once on a terminal.
  void out(std::string_view text);
  // A whole JSON value on a line of its own.
  void out(const json::Writer& document);
  void flush() SEMEL_EXCLUDES(mutex_);
  // stdout is closed or full: nothing more goes there.
  bool out_broken() const noexcept SEMEL_EXCLUDES(mutex_);

  // From here on all on stderr begins with the time, and `stamp` gives it for other lines.
  void begin_log() SEMEL_EXCLUDES(mutex_);
  // The time as --time has it, and two blanks; `relative`: since begin_log. Empty before that.
  std::string stamp() const SEMEL_EXCLUDES(mutex_);

  // A line on stderr that -q silences.
  void note(std::string_view line);
  // A line on stderr that nothing silences.
  void warn(std::string_view line);
  // One line of the log in JSON; -q silences what is no error.
  void log(const LogLine& line);
  // A line on stderr that the next one replaces; only on a terminal and without -q.
  void progress(std::string_view line) SEMEL_EXCLUDES(mutex_);

  // Says what went wrong, in the form of all errors; returns the exit code that belongs to it.
  int fail(const Error& error);
  int fail(ExitCode code, std::string_view message, std::string_view fix = {});

  // The likely next command: on a terminal only, without -q.
  void next(std::string_view command);

  // Asks on the terminal; nothing where the answer is yes, or the code to end with. Without a
  // terminal, and without --yes, the error is printed.
  std::optional<int> confirm(std::string_view question);

  std::string time(StoreTime time) const;

  // Flushes; `code`, unless the answer could not be written although someone wanted it.
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

// Columns as wide as they need to be, two blanks between them.
class Table {
 public:
  explicit Table(std::vector<std::string> titles);
  // As many cells as titles.
  void row(std::vector<std::string> cells);
  // Figures stand at the right of their column.
  void align_right(std::size_t column);
  // With a width the last column is cut, so that lines fit into it; it keeps a readable part.
  std::string text(std::optional<std::size_t> width = std::nullopt) const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> right_;
};

// "error[R207] …" with its fix, as all errors look.
std::string format_error(const Error& error, bool color);

}  // namespace semel::cli
