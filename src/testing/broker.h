// Broker: the simulated source. It redelivers a copy until it is acknowledged.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include <semel/environment.h>

#include "testing/schedule.h"

namespace semel::testkit {

class Broker {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // A consumer that has taken copies.
  using Member = int;

  Broker(const Schedule& schedule, Clock& clock);

  struct Copy {
    std::size_t number = 0;  // among all copies
    std::size_t message = 0;
  };
  // Takes everything that is ready of the first batch that has something ready.
  std::vector<Copy> take(Member member);

  // Each has no effect where the member does not hold the copy any more.
  void acknowledge(Member member, std::size_t copy);
  void later(Member member, std::size_t copy, std::chrono::milliseconds delay);
  // Everything that the member holds is redelivered to others.
  void lose(Member member);

  // The time until the next copy is ready; zero: one is. nullopt: none will be by itself.
  std::optional<std::chrono::nanoseconds> next_in() const;

 private:
  enum class State { kReady, kOut, kAcknowledged };
  struct Entry {
    std::size_t message;
    std::size_t batch;
    State state = State::kReady;
    Member member = 0;
    TimePoint due{};
  };
  bool ready(const Entry& entry) const {
    return entry.state == State::kReady && entry.due <= clock_.now();
  }
  Entry* in_hand(Member member, std::size_t copy);

  Clock& clock_;
  std::vector<Entry> entries_;
};

}  // namespace semel::testkit
