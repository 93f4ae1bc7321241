// What a command finds in its environment: ours about the message, and all that this process has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <semel/attempt.h>
#include <semel/message.h>

#include "core/exec_spec.h"

namespace semel::handlers::exec {

// "NAME=value" of this process, without the names that speak of a message: an inherited one would
// speak of another message.
std::vector<std::string> own_environment();
// The value of `name` in such a list, or nothing.
std::string_view value_in(const std::vector<std::string>& environment, std::string_view name);

// "NAME=value" of this message and attempt.
std::vector<std::string> message_environment(const core::ExecSpec& spec, const Message& message,
                                             const Attempt& attempt);

// Text as it is; of anything else (controls, NUL, what is not UTF-8, and % itself) %XX for each
// byte. Two keys never become one.
std::string environment_key(BytesView key);

}  // namespace semel::handlers::exec
