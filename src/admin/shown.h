// Says what of a message's contents the one who asks may see.
#pragma once

#include "admin/api_route.h"
#include "core/disclosure.h"

namespace semel::admin {

// By the config, and by the caller's role on top of it.
core::Disclosure shown_to(const ApiCall& call, const ApiSources& sources);
// A list shows this: its rows have no contents.
core::Disclosure shown_in_lists(const ApiSources& sources);

}  // namespace semel::admin
