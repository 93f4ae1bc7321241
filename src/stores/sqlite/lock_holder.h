// Finds the holder of a lock from the kernel's data, for error messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <semel/error.h>

namespace semel::sqlite {

// Another process that has locked `path`, or one of SQLite's files next to it, for writing,
// according to /proc/locks; nullopt where unknown.
std::optional<long> lock_holder(const std::string& path);
// The same from a given text and inode numbers.
std::optional<long> lock_holder_in(std::string_view proc_locks, long self,
                                   const std::string& database, const std::string& shared_memory);

// "process 123 (sqlite3)".
std::string process_name(long pid);

// kBlocked, R206.
Error locked_error(const std::string& path, std::optional<long> holder);

}  // namespace semel::sqlite
