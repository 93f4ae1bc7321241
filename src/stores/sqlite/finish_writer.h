// FinishWriter: the writes for one Finish, inside an open write transaction.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <semel/spi/finish.h>

#include "stores/sql/finish_acts.h"
#include "stores/sqlite/tables.h"

namespace semel::sqlite {

class FinishWriter {
 public:
  explicit FinishWriter(Tables& tables) noexcept : tables_(tables), acts_(tables) {}

  // Compare-and-set on the lease's nonce; without a lease no record is touched.
  [[nodiscard]] Applied apply(const Finish& finish, StoreTime now);
  // The same for all of `batch`, one after the other, with what they send.
  [[nodiscard]] std::vector<Applied> apply(std::span<const Finish> batch, StoreTime now);
  // The same for a record that this transaction has locked; `live` is its row, and is consumed.
  // `reserved`: the inbox row that its claim has reserved.
  [[nodiscard]] Applied apply(LiveRow& live, std::optional<std::int64_t> reserved,
                              const Finish& finish, StoreTime now);
  // For a record that is in `generation` already, with `inbox`: the other writes of a completion.
  // `live` is the rest of an earlier attempt.
  void completed_in(Generation& generation, const KeyId& id, const LiveRow* live,
                    std::optional<std::int64_t> inbox, const Finish& finish, StoreTime now);
  sql::FinishActs<Tables>& acts() noexcept { return acts_; }

 private:
  // Completes a record for which nothing else is kept; false where the lease is lost, or where more
  // must be done.
  bool complete_alone(const Finish& finish, StoreTime now);
  // The same for many at once: all of them, or none.
  using Together = std::span<const Finish, Generation::kTogether>;
  bool complete_together(Together finishes, StoreTime now);
  Generation& generation_of(const Finish& finish, StoreTime now);
  void completed_alone(Generation& generation, const Finish& finish);
  Applied complete(const KeyId& id, const LiveRow& live, const Finish& finish, StoreTime now);

  Tables& tables_;
  sql::FinishActs<Tables> acts_;
};

}  // namespace semel::sqlite
