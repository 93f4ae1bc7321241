// ServiceManager: notifies systemd that this process is ready, alive, reloading or stopping.
//
// The protocol is systemd's: datagrams to the socket named by NOTIFY_SOCKET.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "system/descriptor.h"
#include "system/mutex.h"

namespace semel::cli {

// Uses one thread, and none if no notifications are wanted. A notification that cannot be sent is
// lost without other effect.
class ServiceManager {
 public:
  // Sends READY=1, then WATCHDOG=1 every half of WATCHDOG_USEC, and STOPPING=1 once `stopping` is
  // true. Does nothing if NOTIFY_SOCKET is not set.
  explicit ServiceManager(std::function<bool()> stopping);
  // Sends STOPPING=1 if it was not sent yet.
  ~ServiceManager();
  // Sends RELOADING=1 with the time that systemd requires, or READY=1 afterwards; nothing after
  // STOPPING=1. Thread-safe.
  void reloading(bool under_way) const noexcept SEMEL_EXCLUDES(mutex_);
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

 private:
  void loop() SEMEL_EXCLUDES(mutex_);
  void send(std::string_view state) const noexcept;

  const std::function<bool()> stopping_;
  std::string address_;  // empty: no notifications wanted
  system::Descriptor socket_;
  std::optional<std::chrono::milliseconds> watchdog_;  // between two signs of life
  mutable system::Mutex mutex_;
  system::CondVar wake_;
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  bool told_stopping_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace semel::cli
