#include "testing/shrink.h"

#include <algorithm>
#include <utility>

namespace semel::testkit {

namespace {

constexpr std::size_t kMostTries = 300;
// Removing a copy also removes its points; so a fault is also tried up to this many points earlier.
constexpr std::size_t kPointsOfCopy = 16;

class Shrinking {
 public:
  Shrinking(Schedule schedule, const std::function<bool(const Schedule&)>& finds)
      : best_(std::move(schedule)), finds_(finds) {}

  Schedule run() {
    while (tries_ < kMostTries && (without_a_fault() || without_a_copy() || apart())) {
    }
    earlier();
    return std::move(best_);
  }

 private:
  bool better(Schedule schedule) {
    if (tries_ >= kMostTries || !(++tries_, finds_(schedule))) return false;
    best_ = std::move(schedule);
    return true;
  }

  bool without_a_fault() {
    for (std::size_t i = 0; i < best_.faults.size(); ++i) {
      Schedule less = best_;
      less.faults.erase(less.faults.begin() + static_cast<std::ptrdiff_t>(i));
      if (better(std::move(less))) return true;
    }
    return false;
  }

  bool without_a_copy() {
    for (std::size_t b = best_.batches.size(); b-- > 0;) {
      for (std::size_t i = best_.batches[b].size(); i-- > 0;) {
        if (better_or_earlier(without(b, i))) return true;
      }
    }
    return false;
  }

  Schedule without(std::size_t batch, std::size_t copy) const {
    Schedule less = best_;
    auto& copies = less.batches[batch];
    copies.erase(copies.begin() + static_cast<std::ptrdiff_t>(copy));
    if (copies.empty())
      less.batches.erase(less.batches.begin() + static_cast<std::ptrdiff_t>(batch));
    return less;
  }

  bool better_or_earlier(const Schedule& less) {
    if (less.batches.empty()) return false;
    if (better(less)) return true;
    if (less.faults.size() != 1) return false;
    Schedule moved = less;
    for (std::size_t by = 1; by <= kPointsOfCopy && moved.faults.front().at > 1; ++by) {
      --moved.faults.front().at;
      if (better(moved)) return true;
    }
    return false;
  }

  bool apart() {
    for (std::size_t b = 0; b < best_.batches.size(); ++b) {
      if (best_.batches[b].size() == 1) continue;
      Schedule parted = best_;
      const std::vector<std::size_t> copies = parted.batches[b];
      parted.batches.erase(parted.batches.begin() + static_cast<std::ptrdiff_t>(b));
      for (std::size_t i = copies.size(); i-- > 0;) {
        parted.batches.insert(parted.batches.begin() + static_cast<std::ptrdiff_t>(b), {copies[i]});
      }
      if (better(std::move(parted))) return true;
    }
    return false;
  }

  // The first point at which one fault is enough.
  void earlier() {
    if (best_.faults.size() != 1) return;
    const std::size_t last = best_.faults.front().at;
    for (std::size_t at = 1; at < last; ++at) {
      Schedule moved = best_;
      moved.faults.front().at = at;
      if (better(std::move(moved))) return;
    }
  }

  Schedule best_;
  const std::function<bool(const Schedule&)>& finds_;
  std::size_t tries_ = 0;
};

}  // namespace

Schedule shrink(Schedule schedule, const std::function<bool(const Schedule&)>& finds) {
  return Shrinking(std::move(schedule), finds).run();
}

}  // namespace semel::testkit
