// Sweep: completed records past their ttl are found by going through the primary key, for no index
// tells of them: each one more costs every claim.
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

// Goes through the records of one consumer after the other, a part at a time, and remembers its
// place in semel_sweep: each transaction forgets what is due in one part and moves the place. Who
// comes next, in this process or another, goes on from there; several at once take turns. Once
// through, it begins again when a part of the ttl is over, and at once where this process has not
// gone through it yet. One caller at a time.
class Sweep {
 public:
  Sweep(const Dialect& dialect, Generations& generations, std::chrono::milliseconds patience);

  // Takes a consumer that has a ttl; returns how many records were forgotten.
  std::size_t run(Connection& connection, const sql::ConsumerRow& consumer, StoreTime now,
                  sql::PurgeBudget& budget);

  // What is true of a record that is past the ttl of its generation; empty where none can be.
  static std::string condition_of(const std::vector<Generation>& generations, StoreTime now);

 private:
  // How the records of a part stand.
  struct Part {
    KeyId last;
    std::size_t rows = 0;
    std::size_t past = 0;
    bool whole = false;  // all of it may go, and nothing else with it
  };

  // Where the sweep stands, locked; none where nothing is to be done now.
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
  const sql::Text begin_first_;
  const sql::Text place_;
  const sql::Text begin_;
  const sql::Text move_;
  std::set<ConsumerNumber> begun_;  // from the first record, by this process
};

}  // namespace semel::mysql
