// StoreAccess: a store as an operator uses it, with the config that says how its keys are read.
#pragma once

#include <semel/store.h>

#include "config/config.h"

namespace semel::operate {

// Borrows both.
struct StoreAccess {
  const config::Config& config;
  Store& store;
  StoreFacets facets;
};

}  // namespace semel::operate
