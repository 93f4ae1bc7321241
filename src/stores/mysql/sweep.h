// Sweep: finds completed records past their ttl by walking through the primary key, because an
// index for them would slow every claim.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stores/mysql/connection.h"
#include "stores/mysql/generations.h"
#include "stores/sql/consumers.h"
#include "stores/sql/purge.h"

namespace semel::mysql {

// Walks through the records of one consumer after the other, a part at a time, and keeps its place
// in semel_sweep: each transaction forgets the due records of one part and moves the place. The
// next call, in this process or another, continues from there; concurrent ones take turns. After
// the end it begins again when a fraction of the ttl is over, and immediately where this process
// has not walked through it yet. One caller at a time.
class Sweep {
 public:
  Sweep(const Dialect& dialect, Generations& generations, std::chrono::milliseconds patience);

  // For a consumer that has a ttl; returns how many records were forgotten.
  std::size_t run(Connection& connection, const sql::ConsumerRow& consumer, StoreTime now,
                  sql::PurgeBudget& budget);

  // The condition for a record past the ttl of its generation; empty where there can be none.
  static std::string condition_of(const std::vector<Generation>& generations, StoreTime now);

 private:
  // The records of a part.
  struct Part {
    KeyId last;
    std::size_t rows = 0;
    std::size_t past = 0;
    bool whole = false;  // all of it may be removed, and nothing else is kept for it
  };

  // The place of the sweep, locked; nullopt where there is nothing to do now.
  std::optional<KeyId> place(Connection& connection, const sql::ConsumerRow& consumer,
                             StoreTime now);
  Part look(Connection& connection, const KeyId& behind, const KeyId& last,
            const std::string& past);  // `past`: as `condition_of`
  std::size_t forget(Connection& connection, const KeyId& behind, const Part& part,
                     const std::string& past);
  std::size_t forget_some(Connection& connection, const std::string& range,
                          const std::string& past);

  Generations& generations_;
  const std::chrono::milliseconds patience_;
  const sql::SqlText begin_first_;
  const sql::SqlText place_;
  const sql::SqlText begin_;
  const sql::SqlText move_;
  std::set<ConsumerNumber> begun_;  // from the first record, by this process
};

}  // namespace semel::mysql
