// A loop of a user's own around a Guard, for the worker: it reads a file of messages from its first
// line, as a broker brings everything again after a crash, and ends when all are done.
#pragma once

#include <map>
#include <string>

namespace semel::test {

// Settings as the worker's. handler: guard_batch, its work in the store's transaction;
// guard_plain, the same without one; guard_claim, each message claimed, then acted on, then
// finished.
int run_guard_loop(const std::string& place, const std::map<std::string, std::string>& settings);

}  // namespace semel::test
