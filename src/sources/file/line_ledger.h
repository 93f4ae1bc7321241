// LineLedger: the lines of one file that were handed out, and up to where all of them are settled.
//
// Pure; not thread-safe. A line is named by its end, which grows from line to line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "core/ack_tracker.h"
#include "sources/file/line_reader.h"

namespace semel::sources {

class LineLedger {
 public:
  struct Line {
    LineSpan span;
    std::uint64_t hash = 0;
  };

  // `settled`: the last line settled before this process.
  explicit LineLedger(std::optional<Line> settled) : last_(settled) {}

  void handed_out(const Line& line);
  // Both ignore a line that is not handed out now: unknown, settled before, or given back already.
  bool settle(std::uint64_t end);
  bool give_back(std::uint64_t end);
  // The oldest line given back, which is then handed out again. None where there is none.
  std::optional<Line> take_given_back();
  // A line that was taken back and cannot be read again: it is settled whatever its state.
  void drop(std::uint64_t end);

  // The last line up to which everything handed out is settled.
  const std::optional<Line>& last_settled() const noexcept { return last_; }
  std::size_t open() const noexcept { return tracker_.open(); }
  std::size_t given_back() const noexcept { return given_back_; }

 private:
  struct Entry {
    Line line;
    enum class State { kOut, kGivenBack, kSettled } state = State::kOut;
  };
  Entry* find(std::uint64_t end);
  void settled(Entry& entry);

  core::AckTracker tracker_;
  std::deque<Entry> entries_;  // behind the settled prefix, by end
  std::optional<Line> last_;
  std::size_t given_back_ = 0;
};

}  // namespace semel::sources
