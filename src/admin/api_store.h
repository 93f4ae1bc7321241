// The store of the run, for a route that needs it.
#pragma once

#include <functional>

#include "admin/api_route.h"
#include "operate/store_access.h"

namespace semel::admin {

// The answer of `use`; 503 while the run has no store, and 409 where the store has no
// RecordInspector.
HttpResponse with_store(const ApiSources& sources,
                        const std::function<HttpResponse(const operate::StoreAccess&)>& use);

// The same, and 409 (R267) where the store keeps no dead letters.
HttpResponse with_dead_letters(const ApiSources& sources,
                               const std::function<HttpResponse(const operate::StoreAccess&)>& use);

}  // namespace semel::admin
