// Front: a window in front of a consumer's records, and by what right its answers are believed.
//
// The secret stands in the store. Each process puts a new one there when it begins and when the
// store was away, for then it may be another than it was (a backup, a replica that took over);
// forgetting a record does too. A process reads it again and again (kTurnEvery), and believes it
// for kFrontTrusted from before that look. The window's entries are made with the secret that was
// known before the record was asked: so nothing under the present secret is older than the secret
// is.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <semel/environment.h>
#include <semel/front.h>
#include <semel/message.h>
#include <semel/observer.h>
#include <semel/outcome.h>
#include <semel/spi/delivery.h>
#include <semel/spi/run_markers.h>
#include "strategies/strategy.h"

#include "system/mutex.h"

namespace semel::strategies {

struct FrontOptions {
  std::string consumer;
  ConsumerNumber number{};
  Positions* positions = nullptr;       // where the secret stands; borrowed
  std::shared_ptr<FrontWindow> window;  // never null
  Environment* environment = nullptr;
  Observer* observer = nullptr;  // told once when the window is away, and once when it is back
  // Tests take turns themselves; else a thread does, each kTurnEvery.
  bool own_thread = true;
};

// Any thread.
class Front {
 public:
  explicit Front(FrontOptions options);
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  struct Glance {
    std::vector<bool> completed;  // of each message, in their order
    Bytes secret;  // what becomes of the others is to be kept under this one; or empty
  };
  Glance look(std::span<const Message* const> messages);
  // The same of deliveries. What comes from the store itself is never answered, nor what is
  // suspect.
  Glance look(std::span<const core::TrackedDelivery> deliveries);
  // After the record was found, or made, completed: by what was asked of it after that glance.
  void keep(BytesView secret, const Message& message) noexcept;
  // The store was away.
  void doubt() noexcept SEMEL_EXCLUDES(mutex_);

  // What the thread does each time: the secret, and a window that is away.
  void turn();

  // Since it was made.
  struct Counts {
    std::uint64_t asked = 0;     // how often the window was asked about a delivery
    std::uint64_t answered = 0;  // and how often it was believed to know it as completed
  };
  Counts counts() const noexcept;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  FrontEntry entry_of(BytesView secret, const Message& message) const;
  void look_at_secret() SEMEL_EXCLUDES(mutex_);
  void check_window() SEMEL_EXCLUDES(telling_);
  void away(const Error& error) SEMEL_EXCLUDES(telling_);
  void loop() SEMEL_EXCLUDES(mutex_);
  TimePoint now() const { return options_.environment->clock->now(); }

  const FrontOptions options_;
  std::atomic<bool> away_{false};
  std::atomic<std::uint64_t> asked_{0};
  std::atomic<std::uint64_t> answered_{0};
  system::Mutex telling_;  // orders what is told of the window
  system::Mutex mutex_;
  system::CondVar wake_;
  Bytes secret_ SEMEL_GUARDED_BY(mutex_);  // empty: none was seen yet
  TimePoint trusted_until_ SEMEL_GUARDED_BY(mutex_){};
  bool reseal_ SEMEL_GUARDED_BY(mutex_) = true;
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// The record says completed, and is durable: a window may have it.
bool shows_completed(const Outcome& outcome) noexcept;

// How a delivery ends whose key is completed, as the window knows.
Outcome answered_by_front();

// `inner` with the front before it, which is borrowed.
std::unique_ptr<Strategy> make_fronted(std::unique_ptr<Strategy> inner, Front& front);

}  // namespace semel::strategies
