// The body of a call about claims: a JSON object with a batch of keys.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <semel/bytes.h>
#include <semel/key.h>
#include <semel/spi/finish.h>
#include <semel/spi/lease.h>

#include "admin/api_route.h"

namespace semel::admin {

enum class ClaimCall { kClaim, kRenew, kFinish };

struct ClaimItem {
  Bytes key;
  std::string fault;  // why it cannot be a key; its neighbours are claimed. Empty: it can
  Fingerprint fingerprint;
  // For a call about an existing claim.
  Nonce nonce;
  Finish::To to = Finish::To::kCompleted;
  Bytes result;
  std::string error;
  std::chrono::milliseconds after{0};
};

struct ClaimsBody {
  static constexpr std::size_t kMostKeys = 250;
  static constexpr std::size_t kLongestRequest = 200;
  static constexpr std::size_t kLongestError = 4'000;
  static constexpr std::chrono::milliseconds kShortestLease{100};
  static constexpr std::chrono::hours kLongestLease{24};

  std::string request;  // the client's name for it; empty: none
  std::optional<std::chrono::milliseconds> lease;
  std::vector<ClaimItem> items;
};

// The body; or 400 with what is wrong. A key longer than `longest_key` gives its item a fault.
tl::expected<ClaimsBody, HttpResponse> claims_body(const ApiCall& call, ClaimCall asked,
                                                   std::size_t longest_key);

// The word for the end of a claim: "done", "retry", "dead" or "released".
const char* word_of_end(Finish::To to) noexcept;

}  // namespace semel::admin
