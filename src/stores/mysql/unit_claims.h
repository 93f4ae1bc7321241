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

// Of one unit. Where keys are new, they are made at once. Else it looks before it begins the
// transaction, and makes in it what was missing: where the primary key has one of those by then,
// the transaction is begun again. So a key that is there is not locked for its twin's sake for
// longer than the one trip, but where it may be claimed. On a borrowed connection it cannot look
// before, nor begin again.
class UnitClaims {
 public:
  UnitClaims(Connection& connection, const std::string& clock, KeyTrend& trend)
      : connection_(connection), clock_(clock), trend_(trend) {}

  // Begins the transaction, which waits for another holder of a key as long as its patience; then
  // that key is Busy, and it alone.
  std::vector<Claim> claim(std::span<const Message* const> messages, const UnitOptions& options,
                           std::int64_t generation);
  sql::ClaimedKeys& claimed() noexcept { return claimed_; }

 private:
  struct Request;

  // Inside a transaction that another has begun, at whatever isolation.
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
