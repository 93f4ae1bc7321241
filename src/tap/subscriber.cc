#include "tap/subscriber.h"

namespace semel::tap {

namespace {

// Lines formatted at a time: about as much as is sent in one call.
constexpr std::size_t kPiece = 64 << 10;

std::size_t size_of(const DeliveryEvent& event) noexcept {
  std::size_t size = sizeof event + event.consumer.size() + event.reason.size() +
                     event.error.size() + event.partition.size() + event.position.size();
  if (event.key) size += event.key->size();
  if (event.payload) size += event.payload->size();
  return size;
}

}  // namespace

bool Subscriber::has_room(std::size_t payload) noexcept {
  const system::MutexLock lock(mutex_);
  if (fits(sizeof(DeliveryEvent) + payload)) return true;
  ++not_shown_;
  return false;
}

void Subscriber::count_one() noexcept {
  const system::MutexLock lock(mutex_);
  ++not_shown_;
}

bool Subscriber::put(std::shared_ptr<const DeliveryEvent> event) {
  const std::size_t size = size_of(*event);
  const system::MutexLock lock(mutex_);
  if (!fits(size)) {
    ++not_shown_;
    return false;
  }
  const bool idle = waiting_.empty();
  waiting_.push_back({not_shown_, std::move(event)});
  bytes_ += size;
  not_shown_ = 0;
  return idle;
}

bool Subscriber::fetch() {
  taken_.clear();
  next_ = 0;
  const system::MutexLock lock(mutex_);
  if (waiting_.empty()) {
    if (not_shown_ == 0) return false;
    taken_.push_back({std::exchange(not_shown_, 0), nullptr});
    return true;
  }
  std::swap(taken_, waiting_);
  bytes_ = 0;
  return true;
}

std::string Subscriber::take() {
  std::string lines;
  if (next_ == taken_.size() && !fetch()) return lines;
  while (next_ < taken_.size() && lines.size() < kPiece) {
    Waiting& one = taken_[next_++];
    if (one.not_shown_before > 0) lines += line_of(NotShown{one.not_shown_before});
    if (one.event == nullptr) continue;
    lines += line_of(*one.event);
    one.event.reset();
  }
  return lines;
}

}  // namespace semel::tap
