#include <semel/spi/unit_of_work.h>

#include <algorithm>
#include <utility>

namespace semel {

Result<FlushReport> UnitOfWork::flush_and_commit(std::span<const Finish> batch) {
  auto report = flush();
  if (!report || report->all_undone || !report->failed.empty() || !report->missed.empty()) {
    return report;
  }
  if (!batch.empty()) {
    const auto applied = finish(batch);
    if (!applied) return failure(applied.error());
    if (std::ranges::find(*applied, Applied::kLeaseLost) != applied->end()) {
      return failure({ErrorKind::kRetryTransaction, {}, "a record changed hands meanwhile", {}});
    }
  }
  if (auto committed = commit(); !committed) return failure(std::move(committed.error()));
  report->committed = true;
  return report;
}

}  // namespace semel
