// Stopper: passes stop requests of a run to its service. A request never waits, whatever the
// service does.
#pragma once

#include <atomic>
#include <thread>

#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::compose {

class Service;

class Stopper {
 public:
  Stopper() = default;
  Stopper(const Stopper&) = delete;
  Stopper& operator=(const Stopper&) = delete;

  // Begins the drain, or, called again, hurries it. Thread-safe, and also safe in a call from the
  // service. Requests before there is a service are kept for it.
  void stop() noexcept SEMEL_EXCLUDES(mutex_);
  bool was_asked() const noexcept SEMEL_EXCLUDES(mutex_) { return stops() > 0; }
  // Readable once the run is to stop.
  int stop_fd() const noexcept { return stopped_.get(); }
  // Makes it readable at the end of a run too.
  void break_off() noexcept { stopped_.signal(); }
  // Prepares for the next run; no service may be stopping.
  void reset() noexcept SEMEL_EXCLUDES(mutex_);

  // While it lives, stop requests reach the service, by a thread of its own.
  class Stopping {
   public:
    Stopping(Stopper& stopper, Service& service);
    ~Stopping();
    Stopping(const Stopping&) = delete;
    Stopping& operator=(const Stopping&) = delete;

   private:
    void serve(Service& service);

    Stopper& stopper_;
    std::atomic<bool> over_{false};
    std::thread thread_;
  };

 private:
  int stops() const noexcept SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return stops_;
  }

  mutable system::Mutex mutex_;  // not held over a call that waits
  int stops_ SEMEL_GUARDED_BY(mutex_) = 0;
  system::EventFd stopped_;
  system::EventFd asked_;  // for the thread: a stop request, or its end
};

}  // namespace semel::compose
