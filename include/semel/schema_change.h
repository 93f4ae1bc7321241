// SchemaChange: the change that a store's tables need before this library works on them.
#pragma once

#include <string>

#include <semel/standard.h>

namespace semel {

struct SchemaChange {
  int from = 0;     // the version of the existing tables; 0: none
  int to = 0;       // the version this library works on
  std::string sql;  // SQL that opening with `create` would run; empty where the versions agree
};

}  // namespace semel
