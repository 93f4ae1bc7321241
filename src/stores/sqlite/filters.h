// Filters: which sealed generations an id cannot be in, without reading them.
//
// A generation that is sealed in the committed state of the file never takes an insert again, so
// its filter stays right for every process. Filters are built concurrently with claims; until one
// exists, the table itself is read.
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

// Thread-safe.
class Filters {
 public:
  // Requests the filter of `generation`. `rang`: called when something new is wanted.
  void want(std::int64_t generation) SEMEL_EXCLUDES(mutex_);
  void on_wanted(std::function<void()> rang) SEMEL_EXCLUDES(mutex_);
  // All others were dropped, perhaps by another process.
  void keep_only(const std::set<std::int64_t>& generations) SEMEL_EXCLUDES(mutex_);

  // Grows with each new filter.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  std::shared_ptr<const IdFilter> find(std::int64_t generation) const SEMEL_EXCLUDES(mutex_);

  // Builds the wanted filters, over `connection`; ends early when `stopped`. Throws Failure.
  void build(Connection& connection, const std::function<bool()>& stopped) SEMEL_EXCLUDES(mutex_);

 private:
  mutable system::Mutex mutex_;
  std::function<void()> rang_ SEMEL_GUARDED_BY(mutex_);
  std::set<std::int64_t> wanted_ SEMEL_GUARDED_BY(mutex_);
  std::map<std::int64_t, std::shared_ptr<const IdFilter>> built_ SEMEL_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace semel::sqlite
