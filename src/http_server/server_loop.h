// ServerLoop: the thread of an HTTP server, which waits for its sockets and for answers.
//
// The HTTP library could run a thread of its own. That thread, in every version up to 1.0.1, waits
// a second time when exactly as many sockets are ready as it asks for at once, and does not look at
// those until another one is ready: with 128 clients that each wait for an answer, for ever.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "http_server/answer_queue.h"
#include "system/mutex.h"

namespace semel::http {

class ServerLoop {
 public:
  // All functions are called on the loop's thread, and must not throw.
  struct Parts {
    int sockets = -1;  // readable when `run` has something to do
    // How long `run` may wait for that; nullopt: for ever.
    std::function<std::optional<std::chrono::milliseconds>()> patience;
    std::function<void()> run;                        // does what there is to do; does not wait
    std::function<void(AnswerQueue::Entry&)> resume;  // of each entry that was answered
    std::shared_ptr<AnswerQueue> answers;
  };

  // Throws std::system_error where its thread cannot be started.
  explicit ServerLoop(Parts parts);
  // Resumes what was answered until then.
  ~ServerLoop();
  ServerLoop(const ServerLoop&) = delete;
  ServerLoop& operator=(const ServerLoop&) = delete;

  // Runs `work` on the loop's thread, and waits for it. Not thread-safe.
  void call(std::function<void()> work) SEMEL_EXCLUDES(mutex_);

 private:
  void loop() SEMEL_EXCLUDES(mutex_);
  void wait_for_more();
  // False: the loop ends.
  bool obey() SEMEL_EXCLUDES(mutex_);

  const Parts parts_;
  system::Mutex mutex_;
  system::CondVar called_;
  std::function<void()> work_ SEMEL_GUARDED_BY(mutex_);  // empty: none
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace semel::http
