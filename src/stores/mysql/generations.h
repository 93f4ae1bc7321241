// Generations: records of one ttl, under one number, so that what is past it is found together.
//
// The number is only a word in the record: the primary key of semel_record is the id alone, and
// decides by itself. Who still writes the number of a sealed one writes a record that is kept as
// long as its ttl or longer; so a number is never given again, nor taken away.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "stores/mysql/connection.h"
#include "stores/sql/consumers.h"

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

  // The one that takes new records of `ttl`; made where there is none. Outside of a transaction.
  std::int64_t active(Connection& connection, const Ttl& ttl);
  std::vector<Generation> look(Connection& connection);
  // What was kept for `from` is kept for `to`, which is longer.
  void lengthen(Connection& connection, const Ttl& from, const Ttl& to);

 private:
  std::optional<std::int64_t> known_active(const Ttl& ttl);

  const sql::Text lock_;
  const sql::Text list_;
  const sql::Text add_;
  const sql::Text seal_;
  const sql::Text lengthen_;

  std::shared_mutex mutex_;
  std::vector<Generation> known_;
};

}  // namespace semel::mysql
