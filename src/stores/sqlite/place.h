// Whether a database may lie where it is named: what SQLite cannot tell, or tells too late.
#pragma once

#include <string>
#include <string_view>

#include <semel/sqlite.h>

namespace semel::sqlite {

// True for a file system whose locks or shared memory do not hold between machines: there a log and
// its readers disagree. `type` as statfs tells it, `mounted` as /proc/self/mountinfo names it.
bool is_network(long type, std::string_view mounted) noexcept;

// Throws R201 where the path cannot name a file, R204 on a network file system.
void check_place(const SqliteOptions& options);

}  // namespace semel::sqlite
