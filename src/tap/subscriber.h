// Subscriber: the data waiting for one tap. It accepts what fits and counts the rest: adding never
// waits for the reader, nor formats lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "system/mutex.h"
#include "tap/wire.h"

namespace semel::tap {

class Subscriber {
 public:
  // `most`: bytes that may wait. A longer ending fits only if nothing else waits.
  Subscriber(Request request, std::size_t most) : request_(std::move(request)), most_(most) {}
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  const Request& request() const noexcept { return request_; }

  // Thread-safe:

  // Whether an ending with a payload of this size fits; if not, it is counted, and need not be
  // copied.
  bool has_room(std::size_t payload) noexcept SEMEL_EXCLUDES(mutex_);
  // True where nothing waited before, so that the writer must be woken.
  bool put(std::shared_ptr<const DeliveryEvent> event) SEMEL_EXCLUDES(mutex_);
  // Counts an ending that could not even be copied.
  void count_one() noexcept SEMEL_EXCLUDES(mutex_);

  // From one thread at a time: part of the waiting data, as lines; empty where there is none. The
  // number of endings not shown is reported at their place among the others.
  std::string take();

 private:
  struct Waiting {
    std::uint64_t not_shown_before = 0;
    std::shared_ptr<const DeliveryEvent> event;  // null: only that number
  };

  bool fits(std::size_t bytes) const noexcept SEMEL_REQUIRES(mutex_) {
    return waiting_.empty() || bytes_ + bytes <= most_;
  }
  bool fetch() SEMEL_EXCLUDES(mutex_);

  const Request request_;
  const std::size_t most_;

  system::Mutex mutex_;
  std::vector<Waiting> waiting_ SEMEL_GUARDED_BY(mutex_);
  std::size_t bytes_ SEMEL_GUARDED_BY(mutex_) = 0;        // of `waiting_`
  std::uint64_t not_shown_ SEMEL_GUARDED_BY(mutex_) = 0;  // after it

  // Used by the reader only.
  std::vector<Waiting> taken_;
  std::size_t next_ = 0;
};

}  // namespace semel::tap
