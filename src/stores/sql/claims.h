// Shared by the claims of all servers.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <semel/environment.h>
#include <semel/message.h>
#include <semel/spi/claim.h>
#include <semel/spi/finish.h>
#include <semel/spi/lease.h>

#include "stores/sql/record_rows.h"

namespace semel::sql {

// Sorts by the bytes of the ids, as the index does: code that locks several keys locks them in this
// order.
std::vector<std::uint32_t> in_order(std::span<const Message* const> messages);

std::vector<Nonce> draw(Random& random, std::size_t count);

// Repeats a claim whose answer was lost, under its own nonces: keys that it had claimed are found
// to be ours, and their leases begin anew. A key that another took after our lease is busy.
// The answer of a repetition may be lost as well.
template <class Claiming>
std::vector<Claim> said_again_in_doubt(Claiming&& claiming) {
  constexpr int kMostTimes = 3;
  for (int time = 1;; ++time) {
    try {
      return claiming();
    } catch (const Failure& failed) {
      if (failed.error().kind != ErrorKind::kInDoubt || time == kMostTimes) throw;
    }
  }
}

// A record and the nonce that holds it.
struct Holding {
  KeyId key;
  Nonce nonce;
  auto operator<=>(const Holding&) const = default;
};

// For each lease, whether it is among `held`, which are sorted.
std::vector<Applied> applied(std::span<const Lease> leases, std::span<const Holding> held);

// A key that a unit has claimed.
struct Claimed {
  KeyId id;
  Fingerprint fingerprint;
  Bytes key;
  std::optional<RecordRow> live;  // an earlier attempt's, as this claim leaves it; row locked
  std::optional<std::int64_t> inbox;
  StoreTime at{};  // zero: the time in the record's row
  bool finished = false;
};

// The claims of one unit.
class ClaimedKeys {
 public:
  void clear() noexcept;
  void reserve(std::size_t more) { all_.reserve(all_.size() + more); }
  Claimed& add(Claimed claimed) { return all_.emplace_back(std::move(claimed)); }
  // Null where the unit has not claimed it. Fast if keys are asked for in the order of the claim.
  Claimed* find(const KeyId& id) noexcept;
  bool unfinished() const noexcept;
  std::size_t size() const noexcept { return all_.size(); }

 private:
  std::vector<Claimed> all_;
  std::size_t next_ = 0;  // the likely index of the next lookup
};

}  // namespace semel::sql
