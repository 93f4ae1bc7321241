#include "stores/redis/lost_takes.h"

#include <utility>

#include "stores/redis/instance.h"

namespace semel::redis {
namespace {

// A call may arrive after its connection was given up: the network repeats its packets for some
// minutes.
constexpr std::chrono::minutes kOnItsWay{10};

}  // namespace

void LostTakes::add(ConsumerNumber consumer, Bytes take) {
  const system::MutexLock lock(mutex_);
  lost_.push_back({consumer, std::move(take), clock_.elapsed()});
}

Bytes LostTakes::hidden(ConsumerNumber consumer) const {
  const system::MutexLock lock(mutex_);
  Bytes takes;
  for (const Lost& lost : lost_) {
    if (lost.consumer == consumer && !lost.shown) takes += lost.take;
  }
  return takes;
}

void LostTakes::shown(ConsumerNumber consumer, BytesView takes) {
  const system::MutexLock lock(mutex_);
  for (; !takes.empty(); takes.remove_prefix(Instance::kSize)) {
    for (Lost& lost : lost_) {
      if (lost.consumer == consumer && lost.take == takes.substr(0, Instance::kSize)) {
        lost.shown = true;
      }
    }
  }
}

Bytes LostTakes::of(ConsumerNumber consumer) {
  const system::MutexLock lock(mutex_);
  Bytes takes;
  if (lost_.empty()) return takes;
  const auto now = clock_.elapsed();
  std::erase_if(lost_,
                [&](const Lost& lost) { return lost.shown && now - lost.since > kOnItsWay; });
  for (const Lost& lost : lost_) {
    if (lost.consumer == consumer) takes += lost.take;
  }
  return takes;
}

}  // namespace semel::redis
