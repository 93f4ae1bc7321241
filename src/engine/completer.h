// ThreadCompleter: the thread that records what asynchronous handlers came to, and runs second
// parts beside handlers.
#pragma once

#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "strategies/strategies.h"
#include "system/mutex.h"

namespace semel::engine {

class ThreadCompleter final : public strategies::Completer {
 public:
  // `answered`: called as each call ends, by whoever ends it. `begins` and `recorded`: called
  // before and after each round, by the thread that runs it.
  ThreadCompleter(std::function<void()> answered, std::function<void()> begins,
                  std::function<void()> recorded)
      : answered_(std::move(answered)),
        begins_(std::move(begins)),
        recorded_(std::move(recorded)) {}
  ~ThreadCompleter() override { end(); }

  // The thread begins with the first of them.
  void post(std::function<void()> work) override;
  void answered() noexcept override { answered_(); }
  // Returns when all that was posted has run; nothing may be posted after.
  void end() noexcept SEMEL_EXCLUDES(mutex_);

 private:
  void loop() SEMEL_EXCLUDES(mutex_);

  const std::function<void()> answered_;
  const std::function<void()> begins_;
  const std::function<void()> recorded_;
  system::Mutex mutex_;
  system::CondVar wake_;
  std::vector<std::function<void()>> work_ SEMEL_GUARDED_BY(mutex_);
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace semel::engine
