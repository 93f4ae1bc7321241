// LetterJob: replays or discards the dead letters of a query, part by part, at a rate. It stores
// only the ids of one part, and handles each letter once: those that exist at its beginning, in the
// order of their ids, so that a letter that dies again is not handled again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <semel/result.h>

#include "operate/letters.h"
#include "operate/rate.h"
#include "operate/store_access.h"

namespace semel::operate {

enum class LetterAct { kReplay, kDiscard };

struct LetterWork {
  LetterAct act = LetterAct::kReplay;
  LetterQuery query;  // `limit`: of all letters
  std::optional<Rate> rate;
  // Told what each replayed letter came to, once the store has said it. Empty: nobody is.
  std::function<void(const std::string& consumer, ReplayReport::Result)> replayed;
};

struct LetterProgress {
  std::optional<std::size_t> total;  // nullopt: still being counted
  std::size_t done = 0;              // replayed, or discarded
  std::size_t skipped_completed = 0;
  std::size_t skipped_conflict = 0;
  std::size_t gone = 0;    // removed, or being handled by someone else, at their turn
  std::size_t failed = 0;  // the store refused them
  std::string last_error;  // of those
  // Not in the total: replayed before, and not ended since.
  std::size_t on_their_way = 0;

  std::size_t taken() const noexcept {
    return done + skipped_completed + skipped_conflict + gone + failed;
  }
};

// One thread at a time.
class LetterJob {
 public:
  // Ages are relative to now, unless the query has another time.
  explicit LetterJob(LetterWork work);

  // Does the next part, even before it is due; false: that was the last one. After an error for
  // which `passes` is true the same part may be tried again later; after another the job cannot
  // continue.
  Result<bool> step(const StoreAccess& access);
  // True of errors that time may mend.
  static bool passes(const Error& error) noexcept;

  // When the next part is due.
  Throttle::Time due() const noexcept { return throttle_.due(); }
  const LetterProgress& progress() const noexcept { return progress_; }

 private:
  Result<bool> count(const StoreAccess& access);
  Result<bool> act(const StoreAccess& access);
  // A letter as a walk saw it.
  struct Met {
    std::int64_t id = 0;
    int replayed = 0;  // times
    std::string consumer;
  };

  // `part`: letters with ascending ids.
  Result<void> take(const StoreAccess& access, std::span<const Met> part);
  Result<void> take_together(const StoreAccess& access, std::span<const Met> part);
  void settle_doubt(std::vector<Met>& part, std::optional<std::int64_t> next);
  bool finish();
  void tell(const std::string& consumer, ReplayReport::Result result) const;

  const LetterWork work_;
  Throttle throttle_;
  LetterProgress progress_;
  std::size_t counted_ = 0;
  std::int64_t last_ = 0;   // id of the last letter that was counted
  std::int64_t after_ = 0;  // the walk continues above it
  // Letters of parts whose answer was lost. The ones that a later walk does not find were done, and
  // so were those replayed once more by then.
  std::vector<Met> doubtful_;
  std::size_t failed_in_a_row_ = 0;
};

// The counts in a few words: "480 replayed, 20 skipped".
std::string progress_text(LetterAct act, const LetterProgress& progress);

}  // namespace semel::operate
