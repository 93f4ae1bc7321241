// Waiting for what another thread, process or server does.
#pragma once

#include <chrono>
#include <functional>

namespace semel::test {

// Waits until it is so; false when it took too long. Only what never comes waits so long.
bool comes_true(const std::function<bool()>& true_now,
                std::chrono::milliseconds within = std::chrono::seconds(60));

}  // namespace semel::test
