// The exec handler: a command of any language, run once for each message.
//
// The payload is its stdin, what it prints is the result, its exit code the verdict, and the last
// line of its stderr the reason; docs/handlers/exec.md has all of it. Each call has a process group
// of its own, of which nothing is left when the call is answered: what is not told otherwise by the
// command itself (setsid) is killed with it.
#pragma once

#include <chrono>

#include <semel/handler.h>
#include <semel/result.h>

#include "core/exec_spec.h"

namespace semel::handlers {

// kRejected where there is no such program or it may not be run; kUnavailable where the system
// lacks what is needed to run any. The program is looked up once, in the PATH of this moment, and
// the environment of this moment is what commands inherit.
//
// One thread runs all commands of the handler; completions are called on it. When the last copy of
// the handler is gone, what still runs is killed and answered with a retry whose outcome is
// unknown.
Result<AsyncHandler> make_exec_handler(const core::ExecSpec& spec);

// A call that is told to end, by its timeout or by Attempt::stop, is answered within this time,
// unless the kernel itself holds the command.
std::chrono::milliseconds longest_exec_end(const core::ExecSpec& spec) noexcept;
// And any call within this one. Who fires Attempt::stop for a timeout does so later: an earlier
// stop says that not the message was at fault, and is not counted.
std::chrono::milliseconds longest_exec_call(const core::ExecSpec& spec) noexcept;

}  // namespace semel::handlers
