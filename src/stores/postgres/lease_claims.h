// LeaseClaims: two phases; the claim commits before the work begins.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include <semel/spi/store.h>

#include "stores/postgres/generations.h"
#include "stores/postgres/record_batch.h"

namespace semel::postgres {

// If one of many keys is held, each is claimed by itself, and waits no longer than this. The SQL
// functions do the same.
inline constexpr std::chrono::milliseconds kSingleClaimPatience{50};

class LeaseClaims {
 public:
  LeaseClaims(Generations& generations, const BatchTexts& records, const SessionTexts& session,
              std::chrono::milliseconds patience)
      : generations_(generations), records_(records), session_(session), patience_(patience) {}

  // All messages belong to one consumer, each with its nonce. A key that another transaction holds
  // for longer than the patience is Busy, and no other key is.
  std::vector<Claim> claim(Connection& connection, std::span<const Message* const> messages,
                           std::span<const Nonce> nonces, const ClaimOptions& options,
                           std::int64_t instance);

 private:
  struct Request;

  void claim_all(Connection& connection, Request& request, std::chrono::milliseconds patience);
  // Makes records where there are none.
  void insert_new(Connection& connection, Request& request, std::chrono::milliseconds patience);
  // Takes over records that are due, and answers for the others.
  void look(Connection& connection, Request& request, std::chrono::milliseconds patience);
  // Notes in `done` those of this call's own records that it still holds.
  void renew_own(Connection& connection, Request& request, std::span<const Acquired> own,
                 std::chrono::milliseconds patience, std::vector<bool>& done);
  void set_patience(Connection& connection, std::chrono::milliseconds patience);

  Generations& generations_;
  const BatchTexts& records_;
  const SessionTexts& session_;
  const std::chrono::milliseconds patience_;
};

}  // namespace semel::postgres
