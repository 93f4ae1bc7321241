// Lease: a worker's time-limited right to handle one key.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include <semel/key.h>

namespace semel {

// The fence shown to the outside. Grows with each claim and never repeats: not after a release, an
// expiry, a purge, a power loss or a failover. High half: the store's epoch; low half: its counter.
enum class Token : std::uint64_t {};

// Random bits drawn at each claim. Every later write of the holder is a compare-and-set on them, so
// a late holder changes nothing (docs/contract.md, rule 2). Tokens order holders; nonces prove
// them.
struct Nonce {
  std::array<unsigned char, 16> bytes{};
  auto operator<=>(const Nonce&) const = default;
};

struct Lease {
  KeyId key;
  Token token{};
  Nonce nonce;
};

}  // namespace semel
