// StoreAccess: a store as an operator uses it, with the config that says how its keys are read.
#pragma once

#include <semel/error.h>
#include <semel/spi/store.h>

#include "config/config.h"

namespace semel::operate {

// Borrows both.
struct StoreAccess {
  const config::Config& config;
  Store& store;
  StoreFacets facets;
};

// R267: the error where a store that keeps no messages is asked for them.
Error no_messages(const Store& store);

}  // namespace semel::operate
