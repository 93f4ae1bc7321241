// Bulk verbs: what is about to be touched, at which rate, and how far it got. One grammar for all
// of them: ids, or --where, with --limit, --rate, --dry-run and --yes.
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

// A list as text has so many rows where no --limit is given.
inline constexpr std::size_t kRowsShown = 100;

struct BulkFlags {
  std::optional<std::string> where;
  std::size_t limit = 0;  // 0: none
  std::optional<std::string> rate;
  std::string why;  // for the audit log of a run that is asked
};

// The flag --where; its help names the fields.
void where_option(CLI::App& command, BulkFlags& flags, std::span<const WhereField> fields);
// The flag --why.
void why_option(CLI::App& command, BulkFlags& flags);
// A usage error where --why is given and no run is asked: a command leaves no entry.
std::optional<int> refuse_why(Console& console, const BulkFlags& flags);
// The beginning of the body of a write.
json::Writer body_with_reason(const BulkFlags& flags);
// And --limit and --rate.
void bulk_options(CLI::App& command, BulkFlags& flags, std::span<const WhereField> fields);

// Reads what was written, or ends with the place and the fix. Without --where it matches all.
OrEnded<Where> read_where(Console& console, const std::optional<std::string>& text,
                          std::span<const WhereField> fields);
OrEnded<std::optional<Rate>> read_rate(Console& console, const BulkFlags& flags);

// What a verb is about to touch.
struct Plan {
  std::size_t count = 0;
  bool complete = true;     // false: there may be more than were counted
  std::size_t missing = 0;  // ids that are not there
  std::optional<StoreTime> oldest;
  std::optional<StoreTime> newest;
  std::vector<std::string> samples;

  // `sample` is made for the first few only.
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

// "at least 5" where not all could be counted.
std::string count_text(const Plan& plan);
// The plan on stderr, and the question where one is needed; nothing, or the code to end with.
// `many`: "dead letters".
std::optional<int> agree(Console& console, const Plan& plan, std::string_view question,
                         std::string_view one, std::string_view many);
// The plan's members of a summary.
void add_plan(json::Writer& writer, const Console& console, const Plan& plan);

// kOk where all that was asked for was changed.
int bulk_code(std::size_t matched, std::size_t changed, std::size_t asked);

// Keeps to a rate, and says how far it got: on a terminal in one line, else a line now and then.
class Pace {
 public:
  Pace(Console& console, std::optional<Rate> rate, std::size_t whole);
  // Waits until more may be done; how many of `left` at once.
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
