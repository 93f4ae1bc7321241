// StoreAccess: a store for operators, with the config that defines how its keys are read.
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

// The R267 error for a request of messages to a store that keeps none.
Error no_messages(const Store& store);

}  // namespace semel::operate
