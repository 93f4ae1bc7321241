// Filters: which sealed generations an id cannot be in, told without a look at them.
//
// A generation that is sealed in the committed state of the file takes no insert ever again, so
// what its filter says stays right for every process. They are built beside the claims; until one
// is there, the table itself is looked at.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "stores/sqlite/id_filter.h"
#include "system/mutex.h"

namespace semel::sqlite {

class Connection;

// Safe for several threads.
class Filters {
 public:
  // Asks for the filter of `generation`. `rang`: something new is wanted.
  void want(std::int64_t generation) SEMEL_EXCLUDES(mutex_);
  void on_wanted(std::function<void()> rang) SEMEL_EXCLUDES(mutex_);
  // What is no more.
  void drop(std::int64_t generation) SEMEL_EXCLUDES(mutex_);

  // Grows with each new filter.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  std::shared_ptr<const IdFilter> find(std::int64_t generation) const SEMEL_EXCLUDES(mutex_);

  // Builds what is wanted, over `connection`; ends early when `stopped`. Throws Failure.
  void build(Connection& connection, const std::function<bool()>& stopped) SEMEL_EXCLUDES(mutex_);

 private:
  mutable system::Mutex mutex_;
  std::function<void()> rang_ SEMEL_GUARDED_BY(mutex_);
  std::set<std::int64_t> wanted_ SEMEL_GUARDED_BY(mutex_);
  std::map<std::int64_t, std::shared_ptr<const IdFilter>> built_ SEMEL_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace semel::sqlite
