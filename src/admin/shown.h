// Decides which contents of a message a caller may see.
#pragma once

#include "admin/api_route.h"
#include "core/disclosure.h"

namespace semel::admin {

// By the config, and additionally by the caller's role.
core::Disclosure shown_to(const ApiCall& call, const ApiSources& sources);
// Replaces a text of a person or a handler that is hidden: its author is unknown, and a handler's
// text may quote a message.
inline constexpr const char* kNotShown = "why is not shown (admin.errors)";

// For lists, whose rows have no contents.
core::Disclosure shown_in_lists(const ApiSources& sources);

}  // namespace semel::admin
