// The environment of a command: our variables about the message, and those of this process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <semel/attempt.h>
#include <semel/message.h>

#include "core/exec_spec.h"

namespace semel::handlers::exec {

// "NAME=value" of this process, without the names about a message: an inherited one would be about
// another message.
std::vector<std::string> own_environment();
// The value of `name` in such a list; empty where it is missing.
std::string_view value_in(const std::vector<std::string>& environment, std::string_view name);

// "NAME=value" of this message and attempt.
std::vector<std::string> message_environment(const core::ExecSpec& spec, const Message& message,
                                             const Attempt& attempt);

// Text as it is; %XX for each other byte (controls, NUL, invalid UTF-8, and % itself). Different
// keys stay different.
std::string environment_key(BytesView key);

}  // namespace semel::handlers::exec
