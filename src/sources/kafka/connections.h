// Connections: which brokers a client is connected to, as its threads tell it.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "system/mutex.h"

struct rd_kafka_conf_s;

namespace semel::kafka {

class Connections {
 public:
  // Before the client is made of `conf`, which this outlives.
  void watch(rd_kafka_conf_s* conf);
  // From any thread.
  bool none_is_up() const;

 private:
  struct Callbacks;
  void set(std::pair<std::string, int> broker, bool up);

  mutable system::Mutex mutex_;
  std::set<std::pair<std::string, int>> up_ SEMEL_GUARDED_BY(mutex_);  // host and port
};

}  // namespace semel::kafka
