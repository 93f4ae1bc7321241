// Checks the location of a database, which SQLite cannot, or only too late.
#pragma once

#include <string>
#include <string_view>

#include <semel/sqlite.h>

namespace semel::sqlite {

// True for a file system whose locks or shared memory do not work between machines: there a log and
// its readers disagree. `type` from statfs, `mounted` from /proc/self/mountinfo.
bool is_network(long type, std::string_view mounted) noexcept;

// Throws R201 where the path cannot name a file, R204 on a network file system, R209 where the file
// has several names.
void check_place(const SqliteOptions& options);

// The real path of an existing file, whatever links led to it. The locks of a process, and SQLite's
// own log, are next to that path: under two names two processes would not exclude each other.
std::string real_path(const std::string& path);

}  // namespace semel::sqlite
