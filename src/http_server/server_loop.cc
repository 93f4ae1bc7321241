#include "http_server/server_loop.h"

#include <poll.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "system/block_signals.h"

namespace semel::http {

namespace {

// Where the process had no descriptor for a connection, the library does not say when it looks
// again.
constexpr std::chrono::milliseconds kLongestWait{1'000};

}  // namespace

ServerLoop::ServerLoop(Parts parts) : parts_(std::move(parts)), thread_([this] { loop(); }) {}

ServerLoop::~ServerLoop() {
  {
    const system::MutexLock lock(mutex_);
    ending_ = true;
  }
  parts_.answers->wake();
  thread_.join();
}

void ServerLoop::call(std::function<void()> work) {
  {
    const system::MutexLock lock(mutex_);
    work_ = std::move(work);
  }
  parts_.answers->wake();
  const system::MutexLock lock(mutex_);
  called_.wait(mutex_, [this]() SEMEL_REQUIRES(mutex_) { return work_ == nullptr; });
}

void ServerLoop::loop() {
  system::block_signals();
  bool goes_on = true;
  while (goes_on) {
    goes_on = obey();
    auto answered = parts_.answers->take();
    for (; answered != nullptr; answered = answered->take_next()) parts_.resume(*answered);
    parts_.run();
    if (goes_on) wait_for_more();
  }
}

bool ServerLoop::obey() {
  const system::MutexLock lock(mutex_);
  if (work_ != nullptr) {
    work_();
    work_ = nullptr;
    called_.notify_all();
  }
  return !ending_;
}

void ServerLoop::wait_for_more() {
  const auto patience = parts_.patience();
  if (patience && patience->count() <= 0) return;
  if (!parts_.answers->begin_sleep()) return;
  pollfd fds[] = {{parts_.sockets, POLLIN, 0}, {parts_.answers->descriptor(), POLLIN, 0}};
  const auto wait = std::min(patience.value_or(kLongestWait), kLongestWait);
  const int ready = ::poll(fds, std::size(fds), static_cast<int>(wait.count()));
  parts_.answers->end_sleep(ready > 0 && fds[1].revents != 0);
}

}  // namespace semel::http
