// Bell: a descriptor that is readable from a ring until it is silenced.
#pragma once

namespace semel::memory {

class Bell {
 public:
  Bell();
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  void ring() const noexcept;
  void silence() const noexcept;
  int fd() const noexcept { return fd_; }

 private:
  const int fd_;
};

}  // namespace semel::memory
