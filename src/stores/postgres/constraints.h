// Constraints: a violated unique constraint in the server's catalog, cached for a short time.
//
// The server's error names the partition, and not the table that people know; it names the columns
// only to users who may read them. The catalog shows both to every user.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/unique_rules.h"
#include "stores/postgres/pipe.h"

namespace semel::postgres {

class Constraints {
 public:
  // Null: not looked up, or too long ago.
  const std::vector<core::UniqueName>* find(const std::string& schema,
                                            const std::string& constraint) const;
  // Looks up the constraint in the open transaction: from the violated one up to that of the root
  // table. Throws Failure.
  const std::vector<core::UniqueName>& look_up(Pipe& pipe, const std::string& schema,
                                               const std::string& constraint);

 private:
  struct Known {
    std::vector<core::UniqueName> names;
    std::chrono::steady_clock::time_point known_until;
  };
  std::map<std::pair<std::string, std::string>, Known> known_;
};

}  // namespace semel::postgres
