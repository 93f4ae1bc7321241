// Subscriber: what waits to be sent to one tap. It takes what there is room for and counts the
// rest: whoever puts something in never waits for whoever reads, nor makes the lines.
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
  // `most`: bytes that may wait. A longer one has room where nothing waits.
  Subscriber(Request request, std::size_t most) : request_(std::move(request)), most_(most) {}
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  const Request& request() const noexcept { return request_; }

  // These from any thread.

  // Whether an ending with so long a payload has room; where it has none it is counted, and need
  // not be made.
  bool has_room(std::size_t payload) noexcept SEMEL_EXCLUDES(mutex_);
  // True where nothing waited before, so that the writer must be woken.
  bool put(std::shared_ptr<const Ending> ending) SEMEL_EXCLUDES(mutex_);
  // An ending that could not even be copied.
  void count_one() noexcept SEMEL_EXCLUDES(mutex_);

  // From one thread at a time: some of what waits, as lines; empty where nothing does. What was not
  // shown is told in its place among the rest.
  std::string take();

 private:
  struct Waiting {
    std::uint64_t not_shown_before = 0;
    std::shared_ptr<const Ending> ending;  // null: only that
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
  std::uint64_t not_shown_ SEMEL_GUARDED_BY(mutex_) = 0;  // since its end

  // Of the one who takes.
  std::vector<Waiting> taken_;
  std::size_t next_ = 0;
};

}  // namespace semel::tap
