// LineLedger: the lines of one file that were handed out, and up to which line all are settled.
//
// Pure; not thread-safe. A line is identified by its end offset, which grows from line to line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/delivery_ledger.h"
#include "sources/file/line_reader.h"

namespace semel::sources {

class LineLedger {
 public:
  struct Line {
    LineSpan span;
    std::uint64_t hash = 0;
  };

  // `settled`: the last line settled before this process.
  explicit LineLedger(std::optional<Line> settled) : before_(settled) {}

  void handed_out(const Line& line) { lines_.handed_out(line.span.end, line); }
  // Both ignore a line that is not out now: unknown, settled before, or given back already.
  bool settle(std::uint64_t end) { return lines_.settle(end, Settlement::Kind::kAck); }
  bool give_back(std::uint64_t end) { return lines_.settle(end, Settlement::Kind::kRelease); }
  // Hands out the oldest given-back line again. nullopt where there is none.
  std::optional<Line> take_given_back() {
    const auto taken = lines_.take();
    return taken.value == nullptr ? std::nullopt : std::optional(*taken.value);
  }

  // The last line up to which everything handed out is settled.
  const std::optional<Line>& last_settled() const noexcept {
    return lines_.last_passed() ? lines_.last_passed() : before_;
  }
  std::size_t open() const noexcept { return lines_.open(); }
  std::size_t given_back() const noexcept { return lines_.given_back(); }

 private:
  core::DeliveryLedger<Line, core::Keeps::kUntilPassed> lines_;
  const std::optional<Line> before_;
};

}  // namespace semel::sources
