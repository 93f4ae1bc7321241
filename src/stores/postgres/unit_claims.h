// UnitClaims: one phase; the claim is the completed record itself, in the transaction of the work.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <semel/unit_of_work.h>

#include "stores/postgres/lease_claims.h"

namespace semel::postgres {

// A key this unit has claimed.
struct Claimed {
  KeyId id;
  Fingerprint fingerprint;
  Bytes key;
  std::optional<sql::RecordRow>
      live;  // of an earlier try, as this claim leaves it; its row is locked
  std::optional<std::int64_t> inbox;
  StoreTime at{};
  bool finished = false;
};

// Of one unit.
class UnitClaims {
 public:
  UnitClaims(Generations& generations, const BatchTexts& records)
      : generations_(generations), records_(records) {}

  // In an open transaction, which waits for another holder as long as its patience.
  std::vector<Claim> claim(Connection& connection, const Generations::Active& active,
                           std::span<const Message* const> messages, const UnitOptions& options);
  // One at a time, each behind a mark: what is held is Busy.
  std::vector<Claim> claim_singly(Connection& connection, const Generations::Active& active,
                                  std::span<const Message* const> messages,
                                  const UnitOptions& options);
  // Null where the unit has not claimed it. Fast where keys are asked for in the order of the
  // claim.
  Claimed* find(const KeyId& id) noexcept;
  bool unfinished() const noexcept;

 private:
  struct Request;

  std::vector<Claim> claim_some(Connection& connection, const Generations::Active& active,
                                std::span<const Message* const> messages,
                                const UnitOptions& options);
  [[noreturn]] void begin_again();
  void insert(Connection& connection, const Generations::Active& active, Request& request);
  void look(Connection& connection, Request& request);

  Generations& generations_;
  const BatchTexts& records_;
  std::vector<Claimed> claimed_;
  std::size_t next_ = 0;  // where the next one asked for is likely to be
};

}  // namespace semel::postgres
