// Instances: the processes that claim and take, and which of them are proven gone.
#pragma once

#include <cstdint>
#include <vector>

#include "stores/sql/session.h"

namespace semel::sql {

// The holder of a claim that outlives the process which made it: no instance has this number.
inline constexpr std::int64_t kNoInstance = 0;

// Each holds a lock of its session for as long as it lives: the server frees it when the connection
// ends. A process that lost its connection gets another number, and counts as gone under the old
// one. But a server may still do what a dead process had said in another session, behind the end of
// its lock: so each session that writes an instance's number has a lock of that instance too, and
// it is gone when all of them are. Any thread.
class Instances {
 public:
  virtual ~Instances() = default;
  // This process's; registered when first asked for, and the store's epoch raised with it.
  virtual std::int64_t number() = 0;
  // The same, for what `session` is about to write it into, or to prolong for it.
  virtual std::int64_t number_for(Session& session) = 0;
  // Of those registered, the ones whose locks nobody holds any more.
  virtual std::vector<std::int64_t> gone(Session& session) = 0;
  // The same of one that is registered.
  virtual bool is_gone(Session& session, std::int64_t instance) = 0;
};

}  // namespace semel::sql
