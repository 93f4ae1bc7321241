// Rate: how many dead letters or records a bulk verb may touch in a time; and what keeps to it.
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
// The same text again.
std::string rate_text(const Rate& rate);

// Says how many may be touched at once, and when. After a wait it does not make up for what was
// missed. The caller gives the time.
class Throttle {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Throttle(std::optional<Rate> rate) : rate_(rate) {}

  // Never zero.
  std::size_t most() const noexcept;
  // The next may be touched from then on.
  Time due() const noexcept { return due_; }
  // `count` were touched, beginning at `begun`.
  void took(std::size_t count, Time begun);

 private:
  const std::optional<Rate> rate_;
  Time due_{};
};

}  // namespace semel::operate
