// AnswerQueue: the answers of suspended requests, from any thread to the server's thread.
//
// An answer neither resumes its connection nor wakes the server's thread by itself: the thread is
// woken once for all that come while it sleeps, and resumes their connections.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "http_server/http_message.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::http {

class AnswerQueue {
 public:
  // A request that waits for its answer. It is its own place in the queue, so that an answer needs
  // no memory.
  class Entry : public HttpResponder, public std::enable_shared_from_this<Entry> {
   public:
    explicit Entry(std::shared_ptr<AnswerQueue> queue) noexcept : queue_(std::move(queue)) {}
    void answer(HttpResponse response) noexcept final {
      queue_->add(shared_from_this(), std::move(response));
    }
    void answer_together(const std::function<void()>& give) final {
      const Hold hold(*queue_);
      give();
    }

    // Both for the thread that took this entry.
    HttpResponse take_response() noexcept { return std::move(response_); }
    std::shared_ptr<Entry> take_next() noexcept { return std::move(next_); }

   private:
    friend class AnswerQueue;
    const std::shared_ptr<AnswerQueue> queue_;  // its mutex guards the rest, until it is taken
    bool answered_ = false;
    HttpResponse response_;
    std::shared_ptr<Entry> next_;
  };

  // Throws SemelError where the process has no descriptor left.
  AnswerQueue() = default;
  AnswerQueue(const AnswerQueue&) = delete;
  AnswerQueue& operator=(const AnswerQueue&) = delete;

  // Wakes the server's thread. Thread-safe.
  void wake() noexcept SEMEL_EXCLUDES(mutex_);
  // Drops what was not taken, and every later answer. Thread-safe. Must be called at the end: until
  // then an entry that was not taken keeps the queue alive.
  void end() noexcept SEMEL_EXCLUDES(mutex_);

  // The rest is for the server's thread.

  // All answered entries, the oldest first, each with the next one; null: there is none.
  std::shared_ptr<Entry> take() noexcept SEMEL_EXCLUDES(mutex_);
  // False if there is something to do. Otherwise `descriptor` becomes readable with the next answer
  // or wake(), until end_sleep(); a signal that comes later ends the next sleep at once.
  bool begin_sleep() noexcept SEMEL_EXCLUDES(mutex_);
  // `signalled`: `descriptor` is readable.
  void end_sleep(bool signalled) noexcept SEMEL_EXCLUDES(mutex_);
  int descriptor() const noexcept { return event_.get(); }

 private:
  // Only the first answer of an entry counts.
  void add(std::shared_ptr<Entry> entry, HttpResponse response) noexcept SEMEL_EXCLUDES(mutex_);
  // While there is one, answers do not wake the server's thread; the end of the last one does, if
  // there are some. Otherwise the first of many answers wakes it, and the two threads get in each
  // other's way for the rest.
  class Hold {
   public:
    explicit Hold(AnswerQueue& queue) noexcept SEMEL_EXCLUDES(queue.mutex_);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    AnswerQueue& queue_;
  };

  // Whether to signal now.
  bool wakes() noexcept SEMEL_REQUIRES(mutex_);

  system::EventFd event_;
  system::Mutex mutex_;
  std::shared_ptr<Entry> first_ SEMEL_GUARDED_BY(mutex_);
  Entry* last_ SEMEL_GUARDED_BY(mutex_) = nullptr;
  bool woken_ SEMEL_GUARDED_BY(mutex_) = false;   // by wake(), since the last sleep
  bool sleeps_ SEMEL_GUARDED_BY(mutex_) = false;  // and was not signalled
  std::size_t holders_ SEMEL_GUARDED_BY(mutex_) = 0;
  bool ended_ SEMEL_GUARDED_BY(mutex_) = false;
};

}  // namespace semel::http
