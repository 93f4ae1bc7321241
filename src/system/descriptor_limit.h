// Too few file descriptors: named as that, whatever a call or a library made of it.
#pragma once

#include <optional>
#include <string_view>

#include <semel/error.h>

namespace semel::system {

// R270 where `error`, an errno, says that the process or the machine has no descriptor left. `what`
// needed one.
std::optional<Error> descriptor_limit(int error, std::string_view what);

// The same where a library failed and does not say why: asks for a descriptor, and gives it back.
std::optional<Error> descriptor_limit_now(std::string_view what);

// Takes as many descriptors as the system lets this process have. For a program alone: a library
// leaves the limit of its process as it is.
void raise_descriptor_limit() noexcept;

}  // namespace semel::system
