// Bulk verbs show a plan before the work, limit their rate and report progress. All share one
// grammar: ids or --where, with --limit, --rate, --dry-run and --yes.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <semel/admin/records.h>

#include "base/json.h"
#include "cli/console.h"
#include "cli/session.h"
#include "operate/rate.h"
#include "operate/where.h"

namespace CLI {
class App;
}

namespace semel::cli {

using operate::Rate;
using operate::Where;
using operate::WhereField;

// Rows that a list shows as text without --limit.
inline constexpr std::size_t kRowsShown = 100;

struct BulkFlags {
  std::optional<std::string> where;
  std::size_t limit = 0;  // 0: none
  std::optional<std::string> rate;
  std::string why;  // for the audit log of a run that is asked
};

// Adds the flag --where; its help names the fields.
void where_option(CLI::App& command, BulkFlags& flags, std::span<const WhereField> fields);
// Adds the flag --why.
void why_option(CLI::App& command, BulkFlags& flags);
// Returns a usage error if --why is given without --url: a command that opens the store writes no
// audit entry.
std::optional<int> refuse_why(Console& console, const BulkFlags& flags);
// Begins the body of a write request.
json::Writer body_with_reason(const BulkFlags& flags);
// Adds --where, --limit and --rate.
void bulk_options(CLI::App& command, BulkFlags& flags, std::span<const WhereField> fields);

// Parses the text of --where. On a syntax error it prints the place and the fix and ends the
// command. Without --where the filter matches everything.
OrEnded<Where> read_where(Console& console, const std::optional<std::string>& text,
                          std::span<const WhereField> fields);
OrEnded<std::optional<Rate>> read_rate(Console& console, const BulkFlags& flags);

// Reports on stderr how many matching items are left out, if any: a consumer of the store that the
// config does not have must be named.
void note_foreign(Console& console, std::size_t count);

// The items that a verb is about to change.
struct Plan {
  std::size_t count = 0;
  bool complete = true;     // false: more may exist than were counted
  std::size_t missing = 0;  // ids that do not exist
  std::optional<StoreTime> oldest;
  std::optional<StoreTime> newest;
  std::vector<std::string> samples;

  // Calls `sample` for the first few items only.
  template <class Sample>
  void add(const std::optional<StoreTime>& time, Sample&& sample) {
    ++count;
    if (time && (!oldest || *time < *oldest)) oldest = time;
    if (time && (!newest || *time > *newest)) newest = time;
    if (samples.size() < kSamples) samples.push_back(sample());
  }

 private:
  static constexpr std::size_t kSamples = 3;
};

// "at least 5" if not all could be counted.
std::string count_text(const Plan& plan);
// Prints the plan on stderr and asks for confirmation if it is needed. Returns nothing to continue,
// or the exit code. `many`: "dead letters".
std::optional<int> agree(Console& console, const Plan& plan, std::string_view question,
                         std::string_view one, std::string_view many);
// Adds the plan's members to a summary.
void add_plan(json::Writer& writer, const Console& console, const Plan& plan);

// kOk if everything that was asked for was changed.
int bulk_code(std::size_t matched, std::size_t changed, std::size_t asked);

// Limits the rate and shows progress: on a terminal in one line, otherwise with a line now and
// then.
class Pace {
 public:
  Pace(Console& console, std::optional<Rate> rate, std::size_t whole);
  // Waits until more may be done; returns how many of `left` to do now.
  std::size_t next(std::size_t left);
  void done(std::size_t count);

 private:
  using Clock = std::chrono::steady_clock;

  Console& console_;
  operate::Throttle throttle_;
  std::size_t whole_;
  std::size_t done_ = 0;
  Clock::time_point begun_;  // the part that is being done
  Clock::time_point told_;
};

}  // namespace semel::cli
