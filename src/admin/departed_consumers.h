// DepartedConsumers: consumers of claims that a reload has removed, while their claims may be out.
//
// The claims were given for work that may have its effect by now: they are renewed and ended as
// before, until the run ends. No new ones are given.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "system/mutex.h"

namespace semel::admin {

// Thread-safe.
class DepartedConsumers {
 public:
  // A reload replaces one config by the other. Call it before calls are answered by the new one.
  void note(const config::Config& before, const config::Config& after) SEMEL_EXCLUDES(mutex_);

  // Null where the run has never had such a consumer, or has it.
  std::shared_ptr<const config::ConsumerConfig> find(const std::string& name) const
      SEMEL_EXCLUDES(mutex_);
  // Whether the token of that name could claim from the consumer.
  bool may_end(const std::string& name, std::string_view token) const SEMEL_EXCLUDES(mutex_);

 private:
  struct Departed {
    std::shared_ptr<const config::ConsumerConfig> consumer;
    std::vector<std::string> tokens;
  };

  mutable system::Mutex mutex_;
  std::map<std::string, Departed> departed_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::admin
