#include "strategies/writer_share.h"

#include <algorithm>
#include <utility>

namespace semel::strategies {

using std::chrono::nanoseconds;

WriterShare::Call::Call(WriterShare* share) : share_(share) {
  if (share_ == nullptr) return;
  began_ = share_->clock_.now();
  const system::MutexLock lock(share_->mutex_);
  share_->advance(began_);
  ++share_->calls_;
  own_at_begin_ = share_->own_;
}

nanoseconds WriterShare::Call::end() {
  WriterShare* const share = std::exchange(share_, nullptr);
  if (share == nullptr) return nanoseconds{0};
  const TimePoint now = share->clock_.now();
  const system::MutexLock lock(share->mutex_);
  share->advance(now);
  --share->calls_;
  return std::max(now - began_ - (share->own_ - own_at_begin_), nanoseconds{0});
}

void WriterShare::advance(std::chrono::steady_clock::time_point now) {
  // Threads may come here in another order than they have read the clock.
  if (now <= at_) return;
  if (calls_ > 0) own_ += (now - at_) / static_cast<nanoseconds::rep>(calls_);
  at_ = now;
}

}  // namespace semel::strategies
