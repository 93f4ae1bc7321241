#include "http_server/answer_queue.h"

namespace semel::http {

void AnswerQueue::add(std::shared_ptr<Entry> entry, HttpResponse response) noexcept {
  bool signals = false;
  {
    const system::MutexLock lock(mutex_);
    if (ended_ || std::exchange(entry->answered_, true)) return;
    entry->response_ = std::move(response);
    Entry* const added = entry.get();
    (last_ == nullptr ? first_ : last_->next_) = std::move(entry);
    last_ = added;
    signals = wakes();
  }
  if (signals) event_.signal();
}

bool AnswerQueue::wakes() noexcept {
  return holders_ == 0 && first_ != nullptr && std::exchange(sleeps_, false);
}

AnswerQueue::Hold::Hold(AnswerQueue& queue) noexcept : queue_(queue) {
  const system::MutexLock lock(queue.mutex_);
  ++queue.holders_;
}

AnswerQueue::Hold::~Hold() {
  bool signals = false;
  {
    const system::MutexLock lock(queue_.mutex_);
    --queue_.holders_;
    signals = queue_.wakes();
  }
  if (signals) queue_.event_.signal();
}

void AnswerQueue::wake() noexcept {
  bool signals = false;
  {
    const system::MutexLock lock(mutex_);
    woken_ = true;
    signals = std::exchange(sleeps_, false);
  }
  if (signals) event_.signal();
}

void AnswerQueue::end() noexcept {
  {
    const system::MutexLock lock(mutex_);
    ended_ = true;
  }
  std::shared_ptr<Entry> dropped = take();
  // One by one: as a chain they would be destroyed recursively.
  while (dropped != nullptr) dropped = dropped->take_next();
}

std::shared_ptr<AnswerQueue::Entry> AnswerQueue::take() noexcept {
  const system::MutexLock lock(mutex_);
  last_ = nullptr;
  return std::exchange(first_, nullptr);
}

bool AnswerQueue::begin_sleep() noexcept {
  const system::MutexLock lock(mutex_);
  sleeps_ = !std::exchange(woken_, false) && first_ == nullptr;
  return sleeps_;
}

void AnswerQueue::end_sleep(bool signalled) noexcept {
  {
    const system::MutexLock lock(mutex_);
    sleeps_ = false;
  }
  if (signalled) event_.drain();
}

}  // namespace semel::http
