// ThreadCompleter: the thread that records what asynchronous handlers came to.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "strategies/strategies.h"

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
  void end() noexcept;

 private:
  void loop();

  const std::function<void()> answered_;
  const std::function<void()> begins_;
  const std::function<void()> recorded_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::function<void()>> work_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace semel::engine
