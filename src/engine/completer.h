// ThreadCompleter: the thread that records the answers of asynchronous handlers, and runs the
// second parts of two-part handlers.
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
  // `answered`: called as each call ends, on the thread that ends it. `begins` and `recorded`:
  // called before and after each round, on the completer's thread.
  ThreadCompleter(std::function<void()> answered, std::function<void()> begins,
                  std::function<void()> recorded)
      : answered_(std::move(answered)),
        begins_(std::move(begins)),
        recorded_(std::move(recorded)) {}
  ~ThreadCompleter() override { end(); }

  // The thread starts with the first call.
  void post(std::function<void()> work) override;
  void answered() noexcept override { answered_(); }
  // Returns when all posted work has run; nothing may be posted after.
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
