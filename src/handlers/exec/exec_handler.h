// The exec handler: a command in any language, run once for each message.
//
// The payload is its stdin, its stdout is the result, its exit code the verdict, and the last line
// of its stderr the reason; see docs/handlers/exec.md. Each call has a process group of its own, of
// which nothing is left when the call is answered: processes that did not leave the group (setsid)
// are killed with it.
#pragma once

#include <chrono>

#include <semel/handler.h>
#include <semel/result.h>

#include "core/exec_spec.h"

namespace semel::handlers {

// kRejected where there is no such program or it may not be run; kUnavailable where the system
// lacks the means to run any. The program is looked up once, in the present PATH, and commands
// inherit the present environment.
//
// One thread runs all commands of the handler; completions are called on it. When the last copy of
// the handler is destroyed, running commands are killed and answered with a retry whose outcome is
// unknown.
Result<AsyncHandler> make_exec_handler(const core::ExecSpec& spec);

// The longest time until a call is answered after it was asked to end, by its timeout or by
// Attempt::stop, unless the kernel itself holds the command.
std::chrono::milliseconds longest_exec_end(const core::ExecSpec& spec) noexcept;
// The longest time of any call. Callers that fire Attempt::stop as a timeout must do so later: an
// earlier stop means that the message was not at fault, and is not counted.
std::chrono::milliseconds longest_exec_call(const core::ExecSpec& spec) noexcept;

}  // namespace semel::handlers
