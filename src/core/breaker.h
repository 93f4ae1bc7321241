// Breaker: from the answers of an endpoint, when its gate is shut, for how long, and when it opens.
//
// Pure, and knows no time: it counts calls. An answer to a call that was begun before the gate was
// last shut tells nothing new, so hundreds of calls that fail together shut it once.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace semel::core {

class Breaker {
 public:
  // The number of a call, in the order they begin.
  using Ticket = std::uint64_t;

  struct Options {
    // In a row, that shut the gate. So many that an endpoint which fails now and then, under many
    // calls at a time, is not left alone for it.
    int failures = 10;
    std::chrono::milliseconds first{1'000};
    std::chrono::milliseconds longest{300'000};  // each shutting is twice the last, up to this
  };

  Breaker() = default;
  explicit Breaker(Options options) noexcept : options_(options) {}

  Ticket begin() noexcept { return next_++; }

  // The endpoint failed, which one call may meet by chance. How long to shut the gate, or nothing.
  std::optional<std::chrono::milliseconds> failed(Ticket call) noexcept;
  // The endpoint itself is at fault, so that every call would fail. Likewise.
  std::optional<std::chrono::milliseconds> at_fault(Ticket call) noexcept;
  // It asked to be left alone for a while: that long, within bounds.
  std::chrono::milliseconds asked_to_wait(std::chrono::milliseconds wait) noexcept;
  // It works. Whether to open the gate.
  bool answered(Ticket call) noexcept;

 private:
  bool stale(Ticket call) const noexcept { return call < news_from_; }
  std::chrono::milliseconds shut() noexcept;

  Options options_;
  Ticket next_ = 1;
  Ticket news_from_ = 0;
  int failures_ = 0;  // in a row
  std::chrono::milliseconds length_{0};
};

}  // namespace semel::core
