// Generations: records of one ttl, under one number, so that those past it are found together.
//
// The number is only a column of the record: the primary key of semel_record is the id alone, and
// decides by itself. A process that still writes the number of a sealed generation writes a record
// that is kept for its ttl or longer; so a number is never reused, nor removed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "stores/mysql/connection.h"
#include "stores/sql/consumers.h"
#include "system/shared_mutex.h"

namespace semel::mysql {

using sql::Ttl;

struct Generation {
  std::int64_t number = 0;
  Ttl ttl;
  bool active = false;
};

// Thread-safe.
class Generations {
 public:
  Generations(const Dialect& dialect, const std::string& clock);

  // The generation for new records of the consumer; made where there is none. Call it outside of a
  // transaction. Throws for a consumer that was never attached.
  std::int64_t active(Connection& connection, ConsumerNumber consumer) SEMEL_EXCLUDES(mutex_);
  // The cached knowledge may be old: that is safe, but keeps records for longer than needed.
  void forget() SEMEL_EXCLUDES(mutex_);
  std::vector<Generation> look(Connection& connection);

  // Call it in a transaction: until its end no one else makes or changes a generation.
  void lock(Connection& connection) { connection.ask(lock_, {}); }
  // Call it in a transaction: until its end no one else may call lock; others may call keep too.
  void keep(Connection& connection) { connection.ask(keep_, {}); }
  // Call it in a transaction: makes one where there is none for `ttl`, with the lock.
  void make_missing(Connection& connection, const Ttl& ttl);
  // Keeps records made for `from` as long as `to` says, where that is longer. Call it in a
  // transaction that has them locked.
  void change_ttl(Connection& connection, const Ttl& from, const Ttl& to);

 private:
  void make(Connection& connection, ConsumerNumber consumer);

  const sql::SqlText lock_;
  const sql::SqlText keep_;
  const sql::SqlText list_;
  const sql::SqlText of_consumer_;
  const sql::SqlText ttl_;
  const sql::SqlText add_;
  const sql::SqlText seal_;
  const sql::SqlText lengthen_;

  system::SharedMutex mutex_;
  std::unordered_map<std::uint32_t, std::int64_t> known_ SEMEL_GUARDED_BY(mutex_);  // by consumer
  std::uint64_t forgotten_ SEMEL_GUARDED_BY(mutex_) = 0;                            // how often
};

}  // namespace semel::mysql
