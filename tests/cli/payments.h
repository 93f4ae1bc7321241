// A file of payments as producers write it: some twice, some keys used again for another payment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

// Starts a run to the end of `made` again and again, and kills it: as it begins, then each time
// when it got some way, at no certain place of a batch. `sum`: of what is paid so far. How many of
// `kills` hit: on a busy machine a run may be through before its progress is seen.
int kill_runs(const std::string& config, const Payments& made, int kills, std::uint64_t seed,
              const std::function<std::int64_t()>& sum);

}  // namespace semel::test
