// Waits for an action of another thread, process or server.
#pragma once

#include <chrono>
#include <functional>

namespace semel::test {

// Waits until the condition is true; false if it took too long. The full time is only spent if the
// condition never holds.
bool comes_true(const std::function<bool()>& true_now,
                std::chrono::milliseconds within = std::chrono::seconds(60));

}  // namespace semel::test
