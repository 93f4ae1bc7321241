// StackThread: a thread with a stack of a stated size, whatever the limits of the process.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

namespace semel::system {

// Movable. As std::thread, it must be joined before it is destroyed or assigned to. Not
// thread-safe.
class StackThread {
 public:
  StackThread() = default;
  // `stack`: bytes, at least PTHREAD_STACK_MIN. `run` must not throw. Throws std::system_error
  // where the system starts no thread.
  StackThread(std::size_t stack, std::function<void()> run) {
    auto call = std::make_unique<std::function<void()>>(std::move(run));
    pthread_attr_t attributes;
    check(::pthread_attr_init(&attributes));
    int error = ::pthread_attr_setstacksize(&attributes, stack);
    if (error == 0) error = ::pthread_create(&thread_, &attributes, &begin, call.get());
    (void)::pthread_attr_destroy(&attributes);
    check(error);
    (void)call.release();
    joinable_ = true;
  }
  ~StackThread() {
    if (joinable_) std::terminate();
  }
  StackThread(StackThread&& other) noexcept
      : thread_(other.thread_), joinable_(std::exchange(other.joinable_, false)) {}
  StackThread& operator=(StackThread&& other) noexcept {
    if (joinable_) std::terminate();
    thread_ = other.thread_;
    joinable_ = std::exchange(other.joinable_, false);
    return *this;
  }

  bool joinable() const noexcept { return joinable_; }
  // REQUIRES: joinable().
  void join() {
    (void)::pthread_join(thread_, nullptr);
    joinable_ = false;
  }

 private:
  static void check(int error) {
    if (error != 0) throw std::system_error(error, std::generic_category(), "start of a thread");
  }
  static void* begin(void* call) {
    const std::unique_ptr<std::function<void()>> run(static_cast<std::function<void()>*>(call));
    (*run)();
    return nullptr;
  }

  pthread_t thread_{};
  bool joinable_ = false;
};

}  // namespace semel::system
