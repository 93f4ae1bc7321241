// Messages to measure with: what they say is the same for every side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace semel::bench {

inline constexpr std::size_t kPayload = 200;    // bytes of a message
inline constexpr std::size_t kHotRows = 1'000;  // accounts the effects fall on
inline constexpr std::size_t kBatch = 100;      // messages of a hand-made transaction
inline constexpr char kEffect[] =
    "UPDATE account SET balance = balance + :amount WHERE id = :account";

// The statements of a transfer; the two accounts together gain its amount.
inline constexpr char kWithdrawal[] =
    "UPDATE account SET balance = balance - :amount WHERE id = :account";
inline constexpr char kDeposit[] =
    "UPDATE account SET balance = balance + 2 * :amount WHERE id = :to";

enum class Keys {
  kOrdered,  // UUIDs of version 7: they grow with time
  kRandom,   // UUIDs of version 4
};

// `count` payloads with keys that no other `seed` has, for accounts from 0 on.
std::vector<std::string> make_payloads(std::size_t count, Keys keys, std::uint64_t seed,
                                       std::size_t hot_rows = kHotRows);

// Messages that move an amount between two of `rows` accounts, at least two: they lock both, in no
// order that holds for all.
std::vector<std::string> make_transfers(std::size_t count, std::uint64_t seed, std::size_t rows);

// The 16 bytes of a canonical UUID.
struct Id {
  unsigned char bytes[16];
};
Id id_of(std::string_view uuid);

}  // namespace semel::bench
