#include "tests/support/waiting.h"

#include <algorithm>
#include <thread>

namespace semel::test {
namespace {

using std::chrono::steady_clock;

constexpr steady_clock::duration kLookAgain = std::chrono::milliseconds(5);
// A check may start a process at a server, and the awaited work needs the processor too.
constexpr int kPauseForEachLook = 4;
constexpr steady_clock::duration kLongestPause = std::chrono::milliseconds(50);

}  // namespace

bool comes_true(const std::function<bool()>& true_now, std::chrono::milliseconds within) {
  const auto begin = steady_clock::now();
  for (auto look = begin; !true_now();) {
    const auto looked = steady_clock::now();
    if (looked - begin > within) return false;
    std::this_thread::sleep_for(
        std::clamp(kPauseForEachLook * (looked - look), kLookAgain, kLongestPause));
    look = steady_clock::now();
  }
  return true;
}

}  // namespace semel::test
