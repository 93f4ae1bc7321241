// ServiceManager: tells systemd when this process is ready, that it lives, that it reloads and that
// it stops.
//
// The protocol is that of systemd: datagrams to the socket that NOTIFY_SOCKET names.
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

// One thread, and none where nobody asked for messages. What cannot be sent is lost, and changes
// nothing else.
class ServiceManager {
 public:
  // Sends READY=1, then WATCHDOG=1 at half of WATCHDOG_USEC, and STOPPING=1 once `stopping`.
  // Where NOTIFY_SOCKET is not set it does nothing.
  explicit ServiceManager(std::function<bool()> stopping);
  // Sends STOPPING=1 where it was not sent.
  ~ServiceManager();
  // Sends RELOADING=1 with the time that systemd asks for, or READY=1 after it; nothing any more
  // once STOPPING=1 was sent. Thread-safe.
  void reloading(bool under_way) const noexcept SEMEL_EXCLUDES(mutex_);
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

 private:
  void loop() SEMEL_EXCLUDES(mutex_);
  void send(std::string_view state) const noexcept;

  const std::function<bool()> stopping_;
  std::string address_;  // empty: nobody asked
  system::Descriptor socket_;
  std::optional<std::chrono::milliseconds> watchdog_;  // between two signs of life
  mutable system::Mutex mutex_;
  system::CondVar wake_;
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  bool told_stopping_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace semel::cli
