// The metrics of the Kafka source.
#include <algorithm>

#include "core/oldest_figure.h"
#include "sources/kafka/source.h"
#include "system/mutex.h"
#include "system/utc_clock.h"

namespace semel::kafka {

std::vector<SourceFigure> KafkaSource::figures() {
  const system::MutexLock lock(mutex_);
  std::vector<SourceFigure> made;
  if (closed_ || !client_) return made;
  bool known = joined_ && !away_;
  std::int64_t sum = 0;
  std::optional<std::chrono::system_clock::time_point> oldest;
  for (const auto& partition : assignment_.all()) {
    const auto lag = lag_of(*partition);
    oldest = core::earlier(oldest, partition->ledger.oldest_sent());
    if (lag) made.push_back({"lag", partition->name, *lag, {}});
    known = known && lag;
    sum += lag.value_or(0);
    const auto committed = partition->committed();
    if (committed >= 0) made.push_back({"committed", partition->name, committed, {}});
  }
  if (known) made.push_back({"lag", {}, sum, {}});
  core::add_oldest(made, oldest, system::utc_now());
  made.push_back({"partitions", {}, static_cast<std::int64_t>(assignment_.all().size()), {}});
  made.push_back({"rebalances", {}, rebalances_, {}});
  if (skipped_ > 0) made.push_back({"skipped", {}, skipped_, {}});
  if (commit_errors_ > 0) made.push_back({"commit_errors", {}, commit_errors_, commit_error_});
  return made;
}

// nullopt: no broker answers, the partition was not fetched yet, or the group has no offset and
// only the broker knows where it begins.
std::optional<std::int64_t> KafkaSource::lag_of(const Partition& partition) const {
  // librdkafka keeps what it fetched last, which is old then.
  if (away_) return std::nullopt;
  const Client::Edges edges = client_->edges(partition.id);
  if (edges.high < 0) return std::nullopt;
  if (!partition.begin && partition.ledger.committed() < 0) return std::nullopt;
  std::int64_t done = partition.committed();
  if (done < 0 && spec_.from == core::KafkaSpec::From::kEarliest) done = edges.low;
  // Transaction markers may follow the last record; their commit is in progress.
  if (partition.ledger.clear()) done = std::max(done, partition.end);
  if (done < 0) return std::nullopt;
  return std::max<std::int64_t>(edges.high - std::max(done, edges.low), 0);
}

}  // namespace semel::kafka
