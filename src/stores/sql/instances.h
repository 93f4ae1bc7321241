// Instances: the processes that claim and take, and which of them are proven gone.
#pragma once

#include <cstdint>
#include <vector>

#include "stores/sql/session.h"

namespace semel::sql {

// The holder of a claim that outlives the process which made it: no instance has this number.
inline constexpr std::int64_t kNoInstance = 0;

// Each instance holds a lock of its session while it lives: the server frees it when the connection
// ends. A process that lost its connection gets another number, and counts as gone under the old
// one. But a server may still execute a dead process's statement in another session after that lock
// was freed: so each session that writes an instance's number holds a lock of that instance too,
// and the instance is gone when all of them are freed. Thread-safe.
class Instances {
 public:
  virtual ~Instances() = default;
  // This process's number; the first call registers it, and raises the store's epoch.
  virtual std::int64_t number() = 0;
  // The same, before `session` writes the number or renews under it.
  virtual std::int64_t number_for(Session& session) = 0;
  // The registered instances whose locks are all free.
  virtual std::vector<std::int64_t> gone(Session& session) = 0;
  // The same for a single registered instance.
  virtual bool is_gone(Session& session, std::int64_t instance) = 0;
};

}  // namespace semel::sql
