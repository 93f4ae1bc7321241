// traced_handler: each call of a handler is a child of its delivery's span.
#pragma once

#include <string>

#include <semel/handler.h>

#include "traces/tracer.h"

namespace semel::traces {

// The same handler. `kind`: "sql", "http", … An asynchronous call lasts until its answer; a batch
// makes a span for each of its traced messages. The tracer outlives the handler and its calls.
Handler traced(Handler handler, const std::string& consumer, const std::string& kind,
               Tracer& tracer);

}  // namespace semel::traces
