// LeaseClaims: two phases; the claim commits before the work begins.
#pragma once

#include <span>
#include <vector>

#include <semel/spi/store.h>

#include "stores/mysql/key_trend.h"
#include "stores/mysql/record_batch.h"

namespace semel::mysql {

// If keys are probably new, they are inserted first. Otherwise existing records are read first, and
// answered; missing ones are made. The primary key decides who wins. Only new records, and those
// that may be taken over, are locked.
class LeaseClaims {
 public:
  LeaseClaims(Connection& connection, const std::string& clock, const sql::RecordTexts& records,
              KeyTrend& trend)
      : connection_(connection), clock_(clock), records_(records), trend_(trend) {}

  // All messages belong to consumers whose new records go into `generation`, each with its nonce. A
  // key that another transaction holds is Busy, and no other key is.
  std::vector<Claim> claim(std::span<const Message* const> messages, std::span<const Nonce> nonces,
                           const ClaimOptions& options, std::int64_t generation,
                           std::int64_t instance);

 private:
  struct Request;

  void claim_as_new(Request& request);
  void claim_once(Request& request);
  // Answers for existing records. Notes those that are missing, those that may be taken over, and
  // this call's own.
  void look(Request& request);
  void make_new(Request& request);
  void renew_own(Request& request);
  void take_over(Request& request);
  void answer_held(Request& request);

  Connection& connection_;
  const std::string& clock_;
  const sql::RecordTexts& records_;
  KeyTrend& trend_;
};

}  // namespace semel::mysql
