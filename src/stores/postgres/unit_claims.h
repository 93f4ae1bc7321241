// UnitClaims: one phase; the claim is the completed record itself, in the transaction of the work.
#pragma once

#include <span>
#include <vector>

#include <semel/spi/unit_of_work.h>

#include "stores/postgres/lease_claims.h"
#include "stores/sql/claims.h"

namespace semel::postgres {

// The claims of one unit.
class UnitClaims {
 public:
  UnitClaims(Generations& generations, const BatchTexts& records)
      : generations_(generations), records_(records) {}

  // In an open transaction at READ COMMITTED, or a borrowed one at its own isolation; waits for
  // another holder as long as that transaction's patience.
  std::vector<Claim> claim(Connection& connection, const Generations::Active& active,
                           std::span<const Message* const> messages, const UnitOptions& options);
  // One at a time, each after a savepoint: a key that is held is Busy.
  std::vector<Claim> claim_singly(Connection& connection, const Generations::Active& active,
                                  std::span<const Message* const> messages,
                                  const UnitOptions& options);
  sql::ClaimedKeys& claimed() noexcept { return claimed_; }

 private:
  struct Request;

  std::vector<Claim> claim_some(Connection& connection, const Generations::Active& active,
                                std::span<const Message* const> messages,
                                const UnitOptions& options);
  [[noreturn]] void begin_again();
  void queue_check(Connection& connection, const Generations::Active& active,
                   const Request& request) const;
  static void queue_insert(Connection& connection, const Generations::Active& active,
                           const Request& request, ArrayParam& ids);
  void insert(Connection& connection, const Generations::Active& active, Request& request);
  static void meet_older(Connection& connection, const Generations::Active& active,
                         const PGresult* result, Request& request);
  void look(Connection& connection, Request& request);

  Generations& generations_;
  const BatchTexts& records_;
  sql::ClaimedKeys claimed_;
};

}  // namespace semel::postgres
