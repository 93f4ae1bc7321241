// Says what of a message's contents the one who asks may see.
#pragma once

#include "admin/api_route.h"
#include "core/disclosure.h"

namespace semel::admin {

// By the config, and by the caller's role on top of it.
core::Disclosure shown_to(const ApiCall& call, const ApiSources& sources);
// Stands for a person's or a handler's words that are not shown: nobody can tell which of both they
// are, and those of a handler may quote a message.
inline constexpr const char* kNotShown = "why is not shown (admin.errors)";

// A list shows this: its rows have no contents.
core::Disclosure shown_in_lists(const ApiSources& sources);

}  // namespace semel::admin
