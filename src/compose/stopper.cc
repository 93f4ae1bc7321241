#include "compose/stopper.h"

#include <poll.h>

#include "compose/compose.h"

namespace semel::compose {

void Stopper::stop() noexcept {
  const system::MutexLock lock(mutex_);
  ++stops_;
  stopped_.signal();
  asked_.signal();
}

void Stopper::reset() noexcept {
  const system::MutexLock lock(mutex_);
  stops_ = 0;
  stopped_.drain();
  asked_.drain();
}

Stopper::Stopping::Stopping(Stopper& stopper, Service& service)
    : stopper_(stopper), thread_([this, &service] { serve(service); }) {}

Stopper::Stopping::~Stopping() {
  over_ = true;
  stopper_.asked_.signal();
  thread_.join();
}

void Stopper::Stopping::serve(Service& service) {
  for (int passed_on = 0;;) {
    for (; passed_on < stopper_.stops(); ++passed_on) service.stop();
    if (over_.load()) return;
    pollfd asked{stopper_.asked_.get(), POLLIN, 0};
    if (::poll(&asked, 1, -1) > 0) stopper_.asked_.drain();
  }
}

}  // namespace semel::compose
