// Dead letters as operators select them: by consumer, by reason, by a filter.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <semel/admin/records.h>

#include "operate/store_access.h"
#include "operate/where.h"

namespace semel::operate {

std::span<const WhereField> letter_fields() noexcept;
// Whether the filter matches the letter; `now` determines its age.
bool matches(const Where& where, const DeadLetter& letter, StoreTime now);

struct LetterQuery {
  std::string consumer;   // empty: letters of the config's consumers only
  bool foreign = true;    // the named consumer need not be in the config
  std::string reason;     // or the cause; empty: any
  bool replayed = false;  // only those that were replayed and are done since
  Where where;
  std::optional<StoreTime> now;  // determines ages; nullopt: the beginning of the walk
  // Leaves out letters whose replayed message has not ended yet.
  bool settled = false;
  // Counts the letters that a replay would skip, which reads the record of each.
  bool foresees = false;
  std::int64_t after = 0;             // ids above this one
  std::optional<std::int64_t> up_to;  // and none above that one
  std::size_t limit = 0;              // of letters
  // The walk stops at this time; nullopt: only at its end.
  std::optional<std::chrono::steady_clock::time_point> until;
};

struct LetterWalk {
  std::size_t seen = 0;
  // How many of `seen` a replay would skip. 0 unless the query foresees.
  std::size_t skipped_completed = 0, skipped_conflict = 0;
  std::size_t done = 0;     // left out: replayed, and completed since
  std::size_t foreign = 0;  // left out: their consumers are not in the config
  // Left out with `settled`: replayed, and their messages wait or are being handled.
  std::size_t on_their_way = 0;
  // It stopped early, at the limit or at its time: the rest has ids above this one.
  std::optional<std::int64_t> next;
};

// The records that dead letters are about.
class LetterRecords {
 public:
  // Borrows `access`.
  explicit LetterRecords(const StoreAccess& access) : access_(access) {}

  // nullopt: the letter has no key, its consumer is not in the config, or there is no record.
  Result<std::optional<RecordView>> of(const DeadLetter& letter);
  // The result that a replay of the letter would have now.
  Result<ReplayReport::Result> foresee(const DeadLetter& letter);

 private:
  Result<std::optional<ConsumerNumber>> number_of(const std::string& consumer);

  const StoreAccess& access_;
  std::map<std::string, std::optional<ConsumerNumber>> numbers_;
};

// Passes matching letters to `see`, in the order of their ids.
Result<LetterWalk> walk_letters(const StoreAccess& access, const LetterQuery& query,
                                const std::function<void(const DeadLetter&)>& see);

// The highest id of any consumer's letter now.
Result<std::int64_t> last_letter(const StoreAccess& access);

// The query as a filter of the commands; "all" where it selects everything.
std::string query_text(const LetterQuery& query, std::string_view where);

struct LetterGroup {
  std::string consumer;
  std::string reason;
  std::string cause;  // empty: the reason says everything
  std::size_t count = 0;
  StoreTime oldest, newest;  // by when they died
  std::int64_t newest_id = 0;
  std::string newest_error;
};

struct LetterGroups {
  std::vector<LetterGroup> groups;  // the largest first
  std::size_t ungrouped = 0;        // letters beyond the most groups
  LetterWalk walk;
};

// The same letters grouped by consumer, reason and cause, up to a number of groups.
Result<LetterGroups> group_letters(const StoreAccess& access, const LetterQuery& query,
                                   std::size_t most);

}  // namespace semel::operate
