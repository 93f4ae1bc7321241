// RowPace: how fast the version of a business row rises.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace semel::strategies {

// Pure arithmetic over observations of the row; one thread at a time.
class RowPace {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // The row has this version now.
  void saw(std::int64_t version, TimePoint now);
  // The row had this version, and has a newer one now.
  void passed(std::int64_t version, TimePoint now);

  // How long until the row has `version`, at its pace so far; zero: it should have it by now.
  // nullopt: it was never seen to rise.
  std::optional<std::chrono::nanoseconds> time_to(std::int64_t version, TimePoint now) const;
  // How long the smallest step takes; zero: unknown.
  std::chrono::nanoseconds step_time() const;
  // Whether the row must rise before it has `version`, judging by the smallest step.
  bool is_behind(std::int64_t version) const;
  // Whether it has not risen for so long that it may never do.
  bool rests(TimePoint now) const;
  // When the row was last looked at.
  TimePoint looked() const noexcept { return looked_; }

 private:
  struct Seen {
    std::int64_t version;
    TimePoint at;
  };

  void note(const Seen& seen, bool passed);
  void measure(const Seen& seen);
  double left_to(std::int64_t version) const;

  std::optional<Seen> from_;    // the beginning of the measurement
  std::optional<Seen> newest_;  // when it was first seen
  bool passed_ = false;         // the row has a newer version than that
  TimePoint looked_ = TimePoint::min();
  double step_ = 0;         // the smallest between two versions; zero: unknown
  double per_version_ = 0;  // nanoseconds; zero: unknown
};

}  // namespace semel::strategies
