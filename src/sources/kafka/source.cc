#include "sources/kafka/source.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <utility>

#include "clients/kafka/errors.h"
#include "sources/kafka/arrival.h"

namespace semel::kafka {

using std::chrono::milliseconds;

namespace {

// Room that is reserved at first: more arrivals cost a move of all of them.
constexpr std::size_t kReserved = 128;

}  // namespace

KafkaSource::KafkaSource(core::KafkaSpec spec, Environment& environment, Commits commits)
    : spec_(std::move(spec)), commits_(commits), environment_(environment) {}

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
  const system::MutexLock lock(mutex_);
  if (closed_) return failure({ErrorKind::kRejected, "R235", "the Kafka source was closed", {}});
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  if (final_) return failure(*final_);
  // Once reported, the source stays unavailable until a broker answers, whatever the queues
  // contain.
  if (!away_) told_away_ = false;
  if (told_away_) return failure(*away_);
  Received received;
  std::size_t bytes = limits.bytes;
  const auto full = [&] { return received.arrivals.size() >= limits.messages || bytes == 0; };
  assignment_.rotate();
  if (!assignment_.empty()) received.arrivals.reserve(std::min(limits.messages, kReserved));
  blocked_ = false;
  for (const auto& partition : assignment_.all()) {
    if (full()) break;
    if (!partition->leaving && !partition->strays && !pauses_.holds(partition->name)) {
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
  while (into.arrivals.size() < limits.messages && bytes > 0) {
    if (hand_out_again(partition, into, bytes)) continue;
    if (partition.ledger.full()) {
      blocked_ = true;
      return;
    }
    Taken taken = take(partition);
    if (taken.record) {
      partition.at_end = partition.missing = false;
      hand_out(partition, std::move(taken.record), into, bytes);
    } else if (taken.end) {
      meet_end(partition, *taken.end);
    } else if (taken.failure) {
      take_failure(partition, *taken.failure);
    } else {
      return;
    }
  }
}

void KafkaSource::meet_end(Partition& partition, std::int64_t end) {
  if (!partition.ledger.met_end(end)) {
    tell_going_back(partition, end);
    (void)partition.ledger.met_end(end);  // for an empty ledger this always is the end
  }
  note_came(partition, end);
  partition.next = end;  // no record has this offset
  partition.end = end;
  partition.at_end = true;
  partition.missing = false;
}

void KafkaSource::take_failure(Partition& partition, const Taken::Failure& failure) {
  // A partition that does not exist has no more records: a run that ends does not wait for it.
  partition.at_end = is_missing(failure.code);
  if (!partition.at_end) return take_error(failure.code, failure.said);
  // librdkafka repeats this error while it looks for the topic.
  if (std::exchange(partition.missing, true)) return;
  notices_.push_back(error_of(failure.code, failure.said, true).message);
}

void KafkaSource::tell_going_back(Partition& partition, std::int64_t offset) {
  notices_.push_back(fmt::format("{} goes back to offset {}: its log was cut or begun anew",
                                 partition.name, offset));
  assignment_.begin_anew(partition);
}

bool KafkaSource::hand_out_again(Partition& partition, Received& into, std::size_t& bytes) {
  const Kept* const again = partition.ledger.take_given_back();
  if (again == nullptr) return false;
  Arrival& arrival = into.arrivals.emplace_back();
  if (again->copy) {
    arrival = *again->copy;
  } else {
    fill(arrival, *again->message, partition);
  }
  bytes -= std::min(bytes, arrival.payload.size());
  return true;
}

void KafkaSource::hand_out(Partition& partition, RecordPtr record, Received& into,
                           std::size_t& bytes) {
  const std::int64_t offset = record->offset;
  if (!partition.ledger.grows(offset)) tell_going_back(partition, offset);
  note_came(partition, offset);
  if (spec_.from == core::KafkaSpec::From::kLatest) partition.ledger.begin_at(offset);
  fill(into.arrivals.emplace_back(), *record, partition);
  bytes -= std::min(bytes, record->len);
  ++partition.messages_read;
  partition.bytes_read += record->len;
  const auto sent = sent_at(*record);
  partition.ledger.handed_out(offset, {std::move(record), nullptr, sent},
                              into.arrivals.back().payload.size());
  while (Kept* const behind = partition.ledger.left_behind()) {
    behind->copy = std::make_unique<Arrival>();
    fill(*behind->copy, *behind->message, partition);
    behind->message.reset();
  }
}

Wakeup KafkaSource::wakeup() {
  Wakeup wakeup{event_.get(), std::nullopt};
  if (more_ || !thread_.joinable()) wakeup.due_in = milliseconds(0);
  return wakeup;
}

Result<void> KafkaSource::settle(std::span<const Settlement> settlements) {
  const system::MutexLock lock(mutex_);
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

std::vector<std::uint64_t> KafkaSource::take_leaving() noexcept {
  const system::MutexLock lock(mutex_);
  if (leaving_.empty()) return {};
  leaving_event_.drain();
  return std::exchange(leaving_, {});
}

void KafkaSource::set_paused(std::string_view partition, bool paused) {
  const system::MutexLock lock(mutex_);
  pauses_.set(partition, paused);
  event_.signal();
}

std::optional<std::vector<std::string>> KafkaSource::unread() {
  const system::MutexLock lock(mutex_);
  // Without an assignment it does not know what there is to read, and while the brokers are away
  // not what is new there.
  if (closed_ || !joined_ || assignment_.empty()) return std::nullopt;
  return away_ ? assignment_.names() : assignment_.unread();
}

Result<void> KafkaSource::close(milliseconds deadline) {
  {
    const system::MutexLock lock(mutex_);
    if (closed_) return {};
    closed_ = true;
    leave_by_ = environment_.clock->now() + deadline;
  }
  stop_thread();
  {
    const system::MutexLock lock(mutex_);
    assignment_.clear();
  }
  client_.reset();
  const system::MutexLock lock(mutex_);
  if (all_told_) return {};
  return failure({ErrorKind::kUnavailable,
                  "R300",
                  "the last offsets could not be committed: what was done comes again, and is a "
                  "duplicate then",
                  {}});
}

void KafkaSource::stop_thread() {
  {
    const system::MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool KafkaSource::stopping() {
  const system::MutexLock lock(mutex_);
  return stop_ || final_;
}

bool KafkaSource::stopped() {
  const system::MutexLock lock(mutex_);
  return stop_;
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
  if (text.empty() || !told_.emplace(without_times(text)).second) return;
  notices_.push_back(std::move(text));
  event_.signal();
}

}  // namespace semel::kafka
