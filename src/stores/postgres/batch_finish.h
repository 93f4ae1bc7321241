// BatchFinish: what a batch of Finish writes, in an open transaction. Completions and acks, of
// which there are many, are written together; all else one by one.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <semel/finish.h>

#include "stores/postgres/unit_claims.h"
#include "stores/sql/finisher.h"

namespace semel::postgres {

class BatchFinish {
 public:
  // `claims`: of the unit whose transaction it is; null: of none.
  BatchFinish(Connection& connection, sql::Tables& tables, const BatchTexts& texts,
              UnitClaims* claims)
      : connection_(connection),
        tables_(tables),
        texts_(texts),
        claims_(claims),
        finisher_(tables) {}

  std::vector<Applied> run(std::span<const Finish> batch);

 private:
  struct One {
    const Finish* finish = nullptr;
    Claimed* claimed = nullptr;
    enum class Way { kClaimed, kLeased, kAck, kByItself, kOver } way = Way::kByItself;
  };

  One::Way way_of(const One& one) const;
  void complete_leased();
  void remove_rows();
  void end_claimed();
  void end_others();
  void end_claimed_otherwise(Claimed& claimed, const Finish& finish);
  StoreTime now();

  Connection& connection_;
  sql::Tables& tables_;
  const BatchTexts& texts_;
  UnitClaims* claims_;
  sql::Finisher finisher_;

  std::vector<One> all_;
  std::vector<Applied> applied_;
  std::unordered_map<std::int64_t, std::optional<std::int64_t>> gone_;  // held rows; their inbox
  std::optional<StoreTime> now_;
};

// Whether `finish` needs nothing but its record's row: then it may be told by `complete` alone.
bool only_completes(const Finish& finish) noexcept;
// The ids among `finishes` that were completed by their leases.
std::vector<KeyId> complete(Connection& connection, const BatchTexts& texts,
                            std::span<const Finish* const> finishes);

}  // namespace semel::postgres
