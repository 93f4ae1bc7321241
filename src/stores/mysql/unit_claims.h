// UnitClaims: one phase; the claim is the completed record itself, in the transaction of the work.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include <semel/spi/unit_of_work.h>

#include "stores/mysql/key_trend.h"
#include "stores/mysql/record_batch.h"
#include "stores/sql/claims.h"

namespace semel::mysql {

// The claims of one unit. If keys are probably new, they are inserted first. Otherwise existing
// records are read before the transaction begins, and missing ones are made in it: if the primary
// key has one of those by then, the transaction is begun again. So an existing key is not locked
// because of its twin for longer than one round trip, except where it may be claimed. On a borrowed
// connection it can neither read before, nor begin again.
class UnitClaims {
 public:
  UnitClaims(Connection& connection, const std::string& clock, KeyTrend& trend)
      : connection_(connection), clock_(clock), trend_(trend) {}

  // Begins the transaction, which waits for another holder of a key as long as its patience; then
  // that key is Busy, and no other key is.
  std::vector<Claim> claim(std::span<const Message* const> messages, const UnitOptions& options,
                           std::int64_t generation);
  sql::ClaimedKeys& claimed() noexcept { return claimed_; }

 private:
  struct Request;

  // Inside a transaction that its owner has begun, at any isolation.
  void claim_inside(Request& request);
  void make_inside(Request& request, std::span<const std::uint32_t> open);
  void claim_until_settled(Request& request);
  bool claim_once(Request& request);
  bool claim_as_new(Request& request);
  void look(Request& request);
  bool make_new(Request& request);
  void lock_due(Request& request, bool want_result);
  bool answer_held(Request& request);

  Connection& connection_;
  const std::string& clock_;
  KeyTrend& trend_;
  sql::ClaimedKeys claimed_;
};

}  // namespace semel::mysql
