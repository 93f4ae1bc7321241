// Generations: records of one ttl, under one number, so that what is past it is found together.
//
// The number is only a word in the record: the primary key of semel_record is the id alone, and
// decides by itself. Who still writes the number of a sealed one writes a record that is kept as
// long as its ttl or longer; so a number is never given again, nor taken away.
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

// Any thread.
class Generations {
 public:
  Generations(const Dialect& dialect, const std::string& clock);

  // The one that takes new records of the consumer; made where there is none. Outside of a
  // transaction. Throws for a consumer that nobody attached.
  std::int64_t active(Connection& connection, ConsumerNumber consumer) SEMEL_EXCLUDES(mutex_);
  // What is known may be old: that is safe, but keeps records for longer than is needed.
  void forget() SEMEL_EXCLUDES(mutex_);
  std::vector<Generation> look(Connection& connection);

  // In a transaction, to whose end nobody else makes or changes one.
  void lock(Connection& connection) { connection.ask(lock_, {}); }
  // In a transaction, to whose end nobody has them locked; others may do the same.
  void keep(Connection& connection) { connection.ask(keep_, {}); }
  // What was kept for `from` is kept for `to`, where that is longer. In a transaction that has them
  // locked.
  void change_ttl(Connection& connection, const Ttl& from, const Ttl& to);

 private:
  void make(Connection& connection, ConsumerNumber consumer);

  const sql::Text lock_;
  const sql::Text keep_;
  const sql::Text list_;
  const sql::Text of_consumer_;
  const sql::Text ttl_;
  const sql::Text add_;
  const sql::Text seal_;
  const sql::Text lengthen_;

  system::SharedMutex mutex_;
  std::unordered_map<std::uint32_t, std::int64_t> known_ SEMEL_GUARDED_BY(mutex_);  // by consumer
  std::uint64_t forgotten_ SEMEL_GUARDED_BY(mutex_) = 0;                            // times
};

}  // namespace semel::mysql
