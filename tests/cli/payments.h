// A file of payments as producers write it: some twice, some keys used again for another payment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace semel::test {

struct Payments {
  std::string lines;
  std::int64_t sum = 0;
  std::size_t deliveries = 0;
};

// Each payment once, every eighth or so once more, and `reused` keys once more with another body.
// The first one under a key always comes first. Accounts are 1 to 100.
Payments make_payments(std::size_t count, std::size_t reused, std::uint64_t seed);

}  // namespace semel::test
