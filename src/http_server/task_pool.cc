#include "http_server/task_pool.h"

#include <algorithm>
#include <utility>

namespace semel::http {

namespace {

HttpResponse answer_of(const HttpTask& task) {
  try {
    return task.run();
  } catch (...) {
    return internal_error();
  }
}

}  // namespace

HttpResponse plain_text(int status, std::string body) {
  return {status, "text/plain; charset=utf-8", std::move(body), {}};
}

HttpResponse internal_error() { return plain_text(500, "internal error\n"); }

TaskPool::TaskPool(std::size_t threads, std::size_t most_waiting) : most_waiting_(most_waiting) {
  threads_.reserve(threads + 1);
  try {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
    threads_.emplace_back([this] { watch(); });
  } catch (...) {
    // The machine gives no more threads; those that run must be joined.
    stop();
    throw;
  }
}

void TaskPool::stop() {
  Entries refused;
  {
    const system::MutexLock lock(mutex_);
    ending_ = true;
    for (auto at = entries_.begin(); at != entries_.end();) {
      const auto entry = at++;
      if (!(*entry)->begun) refused.splice(refused.end(), entries_, entry);
    }
  }
  changed_.notify_all();
  for (const auto& entry : refused) entry->answer(std::move(entry->task.refused));
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void TaskPool::add(HttpTask task, Answer answer) {
  auto entry = std::make_shared<Entry>();
  entry->deadline = Clock::now() + task.patience;
  entry->task = std::move(task);
  entry->answer = std::move(answer);
  bool taken = false;
  {
    const system::MutexLock lock(mutex_);
    const auto waiting =
        std::ranges::count_if(entries_, [](const auto& one) { return !one->begun; });
    if (!ending_ && static_cast<std::size_t>(waiting) < most_waiting_) {
      entries_.push_back(entry);
      taken = true;
    }
  }
  if (!taken) {
    entry->answer(std::move(entry->task.refused));
    return;
  }
  changed_.notify_all();
}

std::shared_ptr<TaskPool::Entry> TaskPool::next() {
  const auto found = std::ranges::find_if(entries_, [](const auto& one) { return !one->begun; });
  return found == entries_.end() ? nullptr : *found;
}

void TaskPool::work() {
  system::RelockableLock lock(mutex_);
  for (;;) {
    std::shared_ptr<Entry> entry;
    changed_.wait(mutex_, [&]() SEMEL_REQUIRES(mutex_) {
      entry = next();
      return entry != nullptr || ending_;
    });
    if (entry == nullptr) return;
    entry->begun = true;
    lock.unlock();
    HttpResponse response = answer_of(entry->task);
    lock.lock();
    if (std::exchange(entry->answered, true)) continue;
    entries_.remove(entry);
    lock.unlock();
    entry->answer(std::move(response));
    changed_.notify_all();
    lock.lock();
  }
}

std::optional<TaskPool::Clock::time_point> TaskPool::earliest() const {
  std::optional<Clock::time_point> first;
  for (const auto& entry : entries_) {
    if (!first || entry->deadline < *first) first = entry->deadline;
  }
  return first;
}

void TaskPool::watch() {
  system::RelockableLock lock(mutex_);
  while (!ending_ || !entries_.empty()) {
    const auto now = Clock::now();
    const auto over =
        std::ranges::find_if(entries_, [&](const auto& one) { return one->deadline <= now; });
    if (over == entries_.end()) {
      const auto first = earliest();
      if (first) {
        (void)changed_.wait_until(mutex_, *first);
      } else {
        changed_.wait(mutex_);
      }
      continue;
    }
    const std::shared_ptr<Entry> entry = *over;
    entry->answered = true;
    entries_.erase(over);
    lock.unlock();
    entry->answer(std::move(entry->begun ? entry->task.late : entry->task.refused));
    lock.lock();
  }
}

}  // namespace semel::http
