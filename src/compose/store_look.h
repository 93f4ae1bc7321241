// StoreLook: the store's statistics for metrics, queried on a thread of its own and only while
// metrics are scraped.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include <semel/admin/gates.h>
#include <semel/admin/records.h>
#include <semel/result.h>
#include <semel/spi/store.h>

#include "system/mutex.h"

namespace semel::compose {

struct StoreSnapshot {
  StoreStats stats;
  std::map<std::string, ShutGate> shut_gates;  // by consumer
};

// Statistics and shut gates of the store's consumers; nullopt where it keeps none. Takes as long as
// the store's answer.
Result<std::optional<StoreSnapshot>> look_at(Store& store);

// Thread-safe.
class StoreLook {
 public:
  // `ask` runs on this object's thread. A store without statistics returns nullopt.
  using Ask = std::function<Result<std::optional<StoreSnapshot>>()>;
  explicit StoreLook(Ask ask);
  ~StoreLook();
  StoreLook(const StoreLook&) = delete;
  StoreLook& operator=(const StoreLook&) = delete;

  struct Seen {
    std::optional<StoreSnapshot> snapshot;  // the newest
    std::chrono::steady_clock::time_point at{};
    // Whether the newest query was answered within kLongAnswer; nullopt: none was made yet.
    std::optional<bool> reachable;
  };
  // The newest snapshot. If the last query is older than kFresh, the store is queried, and awaited
  // for at most `patience`: if it does not answer in time, the older snapshot is returned.
  Seen get(std::chrono::milliseconds patience) SEMEL_EXCLUDES(mutex_);

  static constexpr std::chrono::seconds kFresh{1};
  static constexpr std::chrono::seconds kLongAnswer{5};

 private:
  void loop() SEMEL_EXCLUDES(mutex_);

  const Ask ask_;
  system::Mutex mutex_;
  system::CondVar changed_;
  Seen seen_ SEMEL_GUARDED_BY(mutex_);
  std::optional<std::chrono::steady_clock::time_point> asked_at_ SEMEL_GUARDED_BY(mutex_);
  bool wanted_ SEMEL_GUARDED_BY(mutex_) = false;
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace semel::compose
