// RowPace: how fast the version of a business row rises.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace semel::strategies {

// Pure arithmetic over what is seen of the row; one thread at a time.
class RowPace {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // The row has this version now.
  void saw(std::int64_t version, TimePoint now);
  // It had this version, and has a newer one now.
  void passed(std::int64_t version, TimePoint now);

  // How long until the row has `version`, if it goes on as it did; zero: it should have it by now.
  // nullopt: it was never seen to rise.
  std::optional<std::chrono::nanoseconds> time_to(std::int64_t version, TimePoint now) const;
  // How long the smallest step takes; zero: not known.
  std::chrono::nanoseconds step_time() const;
  // The row must rise before it has `version`, as far as the smallest step tells.
  bool is_behind(std::int64_t version) const;
  // It was not seen to rise for so long that it may never do.
  bool rests(TimePoint now) const;
  // When it was looked at last.
  TimePoint looked() const noexcept { return looked_; }

 private:
  struct Seen {
    std::int64_t version;
    TimePoint at;
  };

  void note(const Seen& seen, bool passed);
  void measure(const Seen& seen);
  double left_to(std::int64_t version) const;

  std::optional<Seen> from_;    // since then it is measured
  std::optional<Seen> newest_;  // when it was first seen
  bool passed_ = false;         // the row has a newer one than that
  TimePoint looked_ = TimePoint::min();
  double step_ = 0;         // the smallest between two versions; zero: not known
  double per_version_ = 0;  // nanoseconds; zero: not known
};

}  // namespace semel::strategies
