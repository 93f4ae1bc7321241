// TaskPool: runs work that may wait for a store on a few threads, and answers in time.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "http_server/http_message.h"
#include "system/mutex.h"

namespace semel::http {

// Thread-safe.
class TaskPool {
 public:
  // Throws std::system_error where a thread cannot be started.
  TaskPool(std::size_t threads, std::size_t most_waiting);
  ~TaskPool() { stop(); }
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  // `answer` is called once, from any thread, and must not throw: with the task's own answer; with
  // `refused` where too many wait, or its time is over before it begins, and then it never runs;
  // with `late` where its time is over while it runs, and then its answer is dropped.
  using Answer = std::function<void(HttpResponse)>;
  void add(HttpTask task, Answer answer) SEMEL_EXCLUDES(mutex_);

  // Waits for running tasks; those that have not begun, and all later ones, are refused. Not
  // thread-safe.
  void stop() SEMEL_EXCLUDES(mutex_);

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    HttpTask task;
    Answer answer;
    Clock::time_point deadline;
    bool begun = false;
    bool answered = false;
  };
  using Entries = std::list<std::shared_ptr<Entry>>;

  void work() SEMEL_EXCLUDES(mutex_);
  void watch() SEMEL_EXCLUDES(mutex_);
  std::shared_ptr<Entry> next() SEMEL_REQUIRES(mutex_);
  std::optional<Clock::time_point> earliest() const SEMEL_REQUIRES(mutex_);

  const std::size_t most_waiting_;
  system::Mutex mutex_;
  system::CondVar changed_;
  Entries entries_ SEMEL_GUARDED_BY(mutex_);  // not answered yet, oldest first
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace semel::http
