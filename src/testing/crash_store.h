// The store as seen by a simulated process: the process may end at each point, and after that no
// call reaches the store.
#pragma once

#include <memory>

#include <semel/spi/store.h>

#include "testing/life.h"

namespace semel::testkit {

// Borrows both. Facets that no strategy and no Guard writes are the inner store's own.
std::unique_ptr<Store> make_crash_store(Store& inner, Life& life);

}  // namespace semel::testkit
