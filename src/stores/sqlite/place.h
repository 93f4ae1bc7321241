// Whether a database may lie where it is named: what SQLite cannot tell, or tells too late.
#pragma once

#include <string>
#include <string_view>

#include <semel/sqlite.h>

namespace semel::sqlite {

// True for a file system whose locks or shared memory do not hold between machines: there a log and
// its readers disagree. `type` as statfs tells it, `mounted` as /proc/self/mountinfo names it.
bool is_network(long type, std::string_view mounted) noexcept;

// Throws R201 where the path cannot name a file, R204 on a network file system, R209 where the file
// has several names.
void check_place(const SqliteOptions& options);

// The one name of a file that is there, whatever links led to it. The locks of a process, and
// SQLite's own log, stand beside that name: under two names two processes would not meet.
std::string real_path(const std::string& path);

}  // namespace semel::sqlite
