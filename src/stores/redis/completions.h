// Completions: a batch in which records only complete, as calls of Scripts::complete_rows. For a
// single server, where a record and its row are changed in one step.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <semel/spi/finish.h>

#include "stores/redis/names.h"
#include "stores/redis/scripts.h"
#include "stores/redis/settled_entries.h"

namespace semel::redis {

// Whether it only completes its record, or only removes a row, and sends nothing.
bool only_completes_or_acks(const Finish& finish) noexcept;

class Completions {
 public:
  // All leases belong to one consumer. `ttl`: in ms, or empty. `database`: where entries of streams
  // are settled. Borrows the batch.
  Completions(const Names& names, std::span<const Finish> batch, BytesView ttl,
              unsigned database = 0);

  const std::vector<Call>& calls() const noexcept { return calls_; }
  // Calls `yes` with the index of each that was applied, and how, and `harder` with those that
  // Scripts::finish must end. The others have lost their lease.
  template <class Yes, class Harder>
  void each(const std::vector<Reply>& replies, Yes yes, Harder harder) const {
    for (const Entry& entry : entries_) {
      const Bytes& said = replies[entry.call].bytes;
      if (said == kHarder) {
        harder(entry.place);
      } else if (entry.record == 0) {
        yes(entry.place, Applied::kYes);
      } else if (const Applied applied = applied_of(said.at(entry.record - 1));
                 applied != Applied::kLeaseLost) {
        yes(entry.place, applied);
      }
    }
  }

 private:
  static constexpr const char* kHarder = "h";
  struct Entry {
    std::size_t place;  // in the batch
    std::size_t call;
    std::size_t record;  // its number within the call, from 1; 0: none
  };

  void make_call(const Names& names, std::span<const Finish> batch, std::size_t first,
                 std::size_t count, BytesView ttl);

  const unsigned database_;
  std::vector<Call> calls_;
  std::vector<Entry> entries_;
};

}  // namespace semel::redis
