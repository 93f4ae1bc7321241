#include "strategies/pipeline_stats.h"

#include <algorithm>

#include "base/digest.h"

namespace semel::strategies {

bool HopelessRun::take() noexcept {
  int count = count_.load();
  do {
    if (count >= kMost) return false;
  } while (!count_.compare_exchange_weak(count, count + 1));
  return true;
}

// Another message may have succeeded meanwhile and reset the count.
void HopelessRun::give_back(int count) noexcept {
  if (count == 0) return;
  int now = count_.load();
  while (!count_.compare_exchange_weak(now, std::max(0, now - count))) {
  }
}

void HopelessRun::end() noexcept {
  if (count_.load(std::memory_order_relaxed) != 0) count_ = 0;
}

std::shared_ptr<PipelineStats> make_pipeline_stats(std::string_view consumer) {
  const BytesView parts[] = {consumer};
  return std::make_shared<PipelineStats>(
      LockName{digest::shortened(digest::sha256_parts("semel.group", parts))});
}

}  // namespace semel::strategies
