// Claims over HTTP by the API of a run, on any store of its own. It has a consumer of its own.
#pragma once

#include <semel/spi/store.h>

namespace semel::conformance {

// A batch is claimed, done, and then answered as done before; a late holder changes nothing; a dead
// client's claim is taken over; a call whose answer was lost gets the same answer again.
void claims_over_http(Store& store);

}  // namespace semel::conformance
