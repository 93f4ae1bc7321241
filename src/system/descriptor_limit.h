// Recognises a lack of file descriptors, whatever error a call or a library reports.
#pragma once

#include <optional>
#include <string_view>

#include <semel/error.h>

namespace semel::system {

// R270 where `error`, an errno, means that the process or the machine has no descriptor left.
// `what` needed one.
std::optional<Error> descriptor_limit(int error, std::string_view what);

// The same where a library failed without a reason: opens a descriptor as a test, and closes it.
std::optional<Error> descriptor_limit_now(std::string_view what);

// Raises the soft limit to the hard one. For the program only: a library leaves the limit of its
// process unchanged.
void raise_descriptor_limit() noexcept;

}  // namespace semel::system
