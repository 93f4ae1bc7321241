// EventFd: wakes a thread that waits in poll(2).
#pragma once

namespace semel::system {

class EventFd {
 public:
  EventFd();
  ~EventFd();
  EventFd(const EventFd&) = delete;
  EventFd& operator=(const EventFd&) = delete;

  int get() const noexcept { return fd_; }
  void signal() noexcept;  // async-signal-safe
  void drain() noexcept;

 private:
  int fd_;
};

}  // namespace semel::system
