// Dead letters as an operator narrows them: by consumer, by reason, by a filter.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
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
// Whether the filter matches the letter; `now` gives its age.
bool matches(const Where& where, const DeadLetter& letter, StoreTime now);

struct LetterQuery {
  std::string consumer;   // empty: letters of the config's consumers, and of no other
  bool foreign = true;    // a consumer that is named need not be in the config
  std::string reason;     // or the cause; empty: any
  bool replayed = false;  // those that were replayed and are done since, and no others
  Where where;
  std::optional<StoreTime> now;  // gives the ages; none: the time at which the walk begins
  // Leaves out letters that were replayed and whose message is on its way since.
  bool settled = false;
  std::int64_t after = 0;             // ids above this one
  std::optional<std::int64_t> up_to;  // and none above that one
  std::size_t limit = 0;              // of letters
  // The walk stops here; none: at its end.
  std::optional<std::chrono::steady_clock::time_point> until;
};

struct LetterWalk {
  std::size_t seen = 0;
  std::size_t done = 0;     // left out: replayed, and completed since
  std::size_t foreign = 0;  // left out: their consumers are not in the config
  // Left out with `settled`: replayed, and their messages wait for their turn or are worked on.
  std::size_t on_their_way = 0;
  // It stopped before the end, at the limit or at its time: the rest has ids above this one.
  std::optional<std::int64_t> next;
};

// Shows `see` the letters that match, in the order of their ids.
Result<LetterWalk> walk_letters(const StoreAccess& access, const LetterQuery& query,
                                const std::function<void(const DeadLetter&)>& see);

// The id above which there are no letters now, of any consumer.
Result<std::int64_t> last_letter(const StoreAccess& access);

// The query as a filter of the commands would say it; "all" where it narrows nothing.
std::string query_text(const LetterQuery& query, std::string_view where);

struct LetterGroup {
  std::string consumer;
  std::string reason;
  std::string cause;  // empty: the reason says all
  std::size_t count = 0;
  StoreTime oldest, newest;  // by when they died
  std::int64_t newest_id = 0;
  std::string newest_error;
};

struct LetterGroups {
  std::vector<LetterGroup> groups;  // the largest first
  std::size_t ungrouped = 0;        // letters past the number of groups that are kept apart
  LetterWalk walk;
};

// The same letters by consumer, reason and cause, in at most so many groups.
Result<LetterGroups> group_letters(const StoreAccess& access, const LetterQuery& query,
                                   std::size_t most);

}  // namespace semel::operate
