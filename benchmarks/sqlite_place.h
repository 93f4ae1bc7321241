// SQLite files to measure on.
#pragma once

#include <memory>
#include <string>

#include "benchmarks/by_hand.h"

namespace semel::bench {

// Removed with its -wal and -shm by the place's destructor.
std::unique_ptr<SocketDirectory> make_sqlite_place(const std::string& path);

}  // namespace semel::bench
