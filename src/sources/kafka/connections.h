// Connections: which brokers a client is connected to, as reported by its threads.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "system/mutex.h"

struct rd_kafka_conf_s;

namespace semel::kafka {

class Connections {
 public:
  // Call it before the client is made of `conf`; this outlives the client.
  void watch(rd_kafka_conf_s* conf);
  // Thread-safe.
  bool none_is_up() const;

 private:
  struct Callbacks;
  void set(std::pair<std::string, int> broker, bool up);

  mutable system::Mutex mutex_;
  std::set<std::pair<std::string, int>> up_ SEMEL_GUARDED_BY(mutex_);  // host and port
};

}  // namespace semel::kafka
