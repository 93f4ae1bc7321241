// Rate: how many dead letters or records a bulk verb may handle per time; and a throttle for it.
// Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace semel::operate {

struct Rate {
  std::size_t count = 0;
  std::chrono::milliseconds time{0};
};

// "50/s", "3/m", "100/h".
std::optional<Rate> parse_rate(std::string_view text);
// Formats it as parse_rate reads it.
std::string rate_text(const Rate& rate);

// Limits how many may be handled together, and when. After a pause it does not catch up. The caller
// passes the time.
class Throttle {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Throttle(std::optional<Rate> rate) : rate_(rate) {}

  // Never zero.
  std::size_t most() const noexcept;
  // When the next may be handled.
  Time due() const noexcept { return due_; }
  // `count` were handled, beginning at `begun`.
  void took(std::size_t count, Time begun);

 private:
  const std::optional<Rate> rate_;
  Time due_{};
};

}  // namespace semel::operate
