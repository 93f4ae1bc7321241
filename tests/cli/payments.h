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
// The first one under a key always comes first. Accounts are 1 to 100. `first`: number of the first
// payment.
Payments make_payments(std::size_t count, std::size_t reused, std::uint64_t seed,
                       std::size_t first = 0);

// The work of the runs that were killed.
struct KilledRuns {
  std::int64_t sum = 0;
  std::size_t deliveries = 0;
  std::size_t reused = 0;
  int in_mid_work = 0;  // kills that came before all was done
};
// Adds payments to the file, starts a run and kills it: as it begins, then each time when it got
// some way, at no certain place of a batch. Goes on until `kills` of them were in mid-work: a kill
// that comes too late, as on a busy machine, is made up for. `each`, `reused`: of what is added.
// `sum`: of what is paid so far.
KilledRuns kill_runs(const std::string& config, const std::string& file, std::size_t each,
                     std::size_t reused, int kills, std::uint64_t seed,
                     const std::function<std::int64_t()>& sum);

// Starts a run beside another one and kills it when it got some way, `kills` times; each has to die
// of that. `all`: what is to be paid. `sum`: of what is paid so far. Returns how many it killed.
int kill_runners(const std::string& config, std::int64_t all, int kills,
                 const std::function<std::int64_t()>& sum);

}  // namespace semel::test
