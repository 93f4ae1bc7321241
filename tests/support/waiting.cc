#include "tests/support/waiting.h"

#include <thread>

namespace semel::test {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookAgain{5};

}  // namespace

bool comes_true(const std::function<bool()>& true_now, std::chrono::milliseconds within) {
  for (const auto until = steady_clock::now() + within; !true_now();) {
    if (steady_clock::now() > until) return false;
    std::this_thread::sleep_for(kLookAgain);
  }
  return true;
}

}  // namespace semel::test
