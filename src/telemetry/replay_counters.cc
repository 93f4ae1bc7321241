#include "telemetry/replay_counters.h"

namespace semel::telemetry {

void ReplayCounters::add(const std::vector<std::string>& consumers) {
  const system::MutexLock lock(mutex_);
  for (const std::string& consumer : consumers) counts_.try_emplace(consumer);
}

void ReplayCounters::note(const std::string& consumer, ReplayReport::Result result) noexcept {
  try {
    const system::MutexLock lock(mutex_);
    ++counts_[consumer][static_cast<std::size_t>(result)];
  } catch (...) {
  }
}

MetricFamily ReplayCounters::family() const {
  MetricFamily made{"semel_replayed",
                    "Dead letters whose replay this process was asked for.",
                    MetricType::kCounter,
                    {}};
  const system::MutexLock lock(mutex_);
  for (const auto& [consumer, counts] : counts_) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      made.samples.push_back(
          {{{"consumer", consumer}, {"result", kResults[i]}}, static_cast<double>(counts[i]), {}});
    }
  }
  return made;
}

}  // namespace semel::telemetry
