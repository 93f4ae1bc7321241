#include "sources/kafka/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/overloaded.h"
#include "sources/kafka/arrival.h"
#include "sources/kafka/errors.h"

namespace semel::kafka {

using std::chrono::milliseconds;

KafkaSource::KafkaSource(core::KafkaSpec spec, Environment& environment)
    : spec_(std::move(spec)), environment_(environment) {
  traits_.name = "kafka";
  traits_.ends = true;
}

KafkaSource::~KafkaSource() {
  stop_thread();
  assignment_.clear();
}

Result<void> KafkaSource::open() {
  auto client = Client::create(spec_, *this);
  if (!client) return failure(std::move(client.error()));
  client_ = *std::move(client);
  return {};
}

Result<Received> KafkaSource::receive(const ReceiveLimits& limits) {
  event_.drain();
  std::unique_lock lock(mutex_);
  if (closed_) return failure({ErrorKind::kRejected, "R235", "the Kafka source was closed", {}});
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  if (final_) return failure(*final_);
  // Said once, it stays away until a broker answers, whatever lies in the queues.
  if (!away_) told_away_ = false;
  if (told_away_) return failure(*away_);
  Received received;
  std::size_t bytes = limits.bytes;
  const auto full = [&] { return received.arrivals.size() >= limits.messages || bytes == 0; };
  assignment_.rotate();
  blocked_ = false;
  for (const auto& partition : assignment_.all()) {
    if (full()) break;
    if (!partition->leaving && !pauses_.holds(partition->name)) {
      read(*partition, limits, received, bytes);
    }
  }
  more_ = full();
  if (final_) return failure(*final_);
  if (received.arrivals.empty() && away_) {
    told_away_ = true;
    return failure(*away_);
  }
  received.notices = std::exchange(notices_, {});
  received.horizon = std::exchange(horizon_, std::nullopt);
  received.at_end = joined_ && !more_ && !away_ && assignment_.at_end();
  return received;
}

void KafkaSource::read(Partition& partition, const ReceiveLimits& limits, Received& into,
                       std::size_t& bytes) {
  const auto hand_out = [&](Arrival arrival) {
    bytes -= std::min(bytes, arrival.payload.size());
    into.arrivals.push_back(std::move(arrival));
  };
  while (into.arrivals.size() < limits.messages && bytes > 0) {
    if (auto again = partition.ledger.take_given_back()) {
      hand_out(*std::move(again));
      continue;
    }
    if (partition.ledger.full()) {
      blocked_ = true;
      return;
    }
    Taken taken = take(partition);
    if (std::holds_alternative<Nothing>(taken)) return;
    const auto* end = std::get_if<PartitionEnd>(&taken);
    partition.at_end = end != nullptr;
    if (end != nullptr) partition.end = end->next;
    if (const auto* error = std::get_if<PartitionError>(&taken)) {
      take_error(error->code, error->said);
    }
    auto* record = std::get_if<Record>(&taken);
    if (record == nullptr) continue;
    if (!partition.ledger.grows(record->offset)) {
      notices_.push_back(fmt::format("{} goes back to offset {}: its log was cut or begun anew",
                                     partition.name, record->offset));
      assignment_.begin_anew(partition);
      record->arrival.tag.generation = partition.generation;
    }
    partition.ledger.handed_out(record->offset, record->arrival);
    hand_out(std::move(record->arrival));
  }
}

Wakeup KafkaSource::wakeup() {
  Wakeup wakeup{event_.get(), std::nullopt};
  if (more_ || !thread_.joinable()) wakeup.due_in = milliseconds(0);
  return wakeup;
}

Result<void> KafkaSource::settle(std::span<const Settlement> settlements) {
  const std::scoped_lock lock(mutex_);
  bool again = false;
  for (const Settlement& settlement : settlements) {
    Partition* partition = assignment_.find(settlement.tag.generation);
    if (partition == nullptr) continue;
    const auto offset = static_cast<std::int64_t>(settlement.tag.value);
    if (partition->ledger.settle(offset, settlement.kind)) {
      again = again || partition->ledger.has_given_back();
    }
  }
  if (again || blocked_) event_.signal();
  changed_.notify_all();
  return {};
}

void KafkaSource::set_paused(std::string_view partition, bool paused) {
  const std::scoped_lock lock(mutex_);
  pauses_.set(partition, paused);
  event_.signal();
}

Result<void> KafkaSource::close(milliseconds deadline) {
  {
    const std::scoped_lock lock(mutex_);
    if (closed_) return {};
    closed_ = true;
    leave_by_ = environment_.clock->now() + deadline;
  }
  stop_thread();
  assignment_.clear();
  client_.reset();
  if (all_told_) return {};
  return failure({ErrorKind::kUnavailable,
                  "R300",
                  "the last offsets could not be committed: what was done comes again, and is a "
                  "duplicate then",
                  {}});
}

void KafkaSource::stop_thread() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool KafkaSource::stopping() {
  const std::scoped_lock lock(mutex_);
  return stop_ || final_;
}

void KafkaSource::take_error(int code, std::string_view said) {
  Error error = error_of(client_->cause_of(code), said, connected_);
  if (is_final(error)) {
    set_final(std::move(error));
  } else {
    tell_once(std::move(error.message));
  }
}

void KafkaSource::set_final(Error error) {
  if (!final_) final_ = std::move(error);
  event_.signal();
}

void KafkaSource::tell_once(std::string text) {
  if (text.empty() || !told_.insert(text).second) return;
  notices_.push_back(std::move(text));
  event_.signal();
}

}  // namespace semel::kafka
