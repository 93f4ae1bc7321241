// Consumers written by hand over a topic.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace semel::bench {

struct Topic {
  std::string brokers;
  std::string name;
  std::size_t messages = 0;
};

// A name that no group had.
std::string new_group();

// As a new group, polled one by one, an offset committed for each hundred without waiting. Messages
// per second, from the first one on.
double poll_by_hand(const Topic& topic);
// The first `count`: each given to `handle`, then its offset committed and waited for.
double poll_naively(const Topic& topic, std::size_t count,
                    const std::function<void(const std::string& payload)>& handle);

}  // namespace semel::bench
