// SchemaChange: the change that a store's tables need before this library works on them.
#pragma once

#include <string>

#include <semel/standard.h>

namespace semel {

struct SchemaChange {
  int from = 0;     // the version of the tables that are there; 0: none
  int to = 0;       // the version this library works on
  std::string sql;  // what opening with `create` would run; empty where they are the same
};

}  // namespace semel
