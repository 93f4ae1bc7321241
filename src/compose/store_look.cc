#include "compose/store_look.h"

#include <utility>

namespace semel::compose {

namespace {

using std::chrono::steady_clock;

}  // namespace

Result<std::optional<StoreSnapshot>> look_at(Store& store) {
  const StoreFacets facets = store.facets();
  if (facets.records == nullptr) return std::nullopt;
  auto stats = facets.records->backlog();
  if (!stats) return failure(std::move(stats.error()));
  StoreSnapshot made{*std::move(stats), {}};
  if (facets.gates == nullptr) return made;
  for (const StoreStats::Consumer& consumer : made.stats.consumers) {
    auto gate = facets.gates->state(consumer.number);
    if (!gate) return failure(std::move(gate.error()));
    if (*gate) made.shut_gates.emplace(consumer.name, **std::move(gate));
  }
  return made;
}

StoreLook::StoreLook(Ask ask) : ask_(std::move(ask)), thread_([this] { loop(); }) {}

StoreLook::~StoreLook() {
  {
    const system::MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

StoreLook::Seen StoreLook::get(std::chrono::milliseconds patience) {
  const system::MutexLock lock(mutex_);
  const auto now = steady_clock::now();
  if (!wanted_ && (!asked_at_ || now - *asked_at_ >= kFresh)) {
    asked_at_ = now;
    wanted_ = true;
    changed_.notify_all();
    changed_.wait_for(mutex_, patience,
                      [this]() SEMEL_REQUIRES(mutex_) { return !wanted_ || ending_; });
  }
  Seen seen = seen_;
  if (wanted_ && now - *asked_at_ >= kLongAnswer) seen.reachable = false;
  return seen;
}

void StoreLook::loop() {
  system::RelockableLock lock(mutex_);
  for (;;) {
    changed_.wait(mutex_, [this]() SEMEL_REQUIRES(mutex_) { return wanted_ || ending_; });
    if (ending_) return;
    lock.unlock();
    Result<std::optional<StoreSnapshot>> answer = failure({ErrorKind::kUnavailable, {}, {}, {}});
    try {
      answer = ask_();
    } catch (...) {
      // Out of memory: there is no answer.
    }
    lock.lock();
    seen_.reachable = answer.has_value();
    if (answer) {
      seen_.snapshot = *std::move(answer);
      seen_.at = steady_clock::now();
    }
    wanted_ = false;
    changed_.notify_all();
  }
}

}  // namespace semel::compose
