// Broker: the simulated source. It brings a copy again until it is acknowledged.
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
  // A consumer that has copies in hand.
  using Member = int;

  Broker(const Schedule& schedule, Clock& clock);

  struct Copy {
    std::size_t number = 0;  // among all copies
    std::size_t message = 0;
  };
  // All that is ready of the first batch that has something ready; the member has it in hand then.
  std::vector<Copy> take(Member member);

  // Each is void where the copy is not in the member's hand any more.
  void acknowledge(Member member, std::size_t copy);
  void later(Member member, std::size_t copy, std::chrono::milliseconds delay);
  // All that the member has in hand is brought to others.
  void lose(Member member);

  // Until the next copy is ready; zero: one is. Nothing: none will be by itself.
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
