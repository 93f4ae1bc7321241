// traced_store: each call of a store for a delivery is a child of its span.
#pragma once

#include <memory>

#include <semel/spi/store.h>

#include "traces/tracer.h"

namespace semel::traces {

// The same store. A call for a batch makes a span for each of its traced messages. The tracer
// outlives it.
std::unique_ptr<Store> traced(std::unique_ptr<Store> store, Tracer& tracer);

}  // namespace semel::traces
