// The store with an injectable clock, for tests.
#pragma once

#include <memory>

#include <semel/sqlite.h>

#include "stores/sqlite/store_clock.h"

namespace semel::sqlite {

// As semel::open_sqlite; `clock` is the store's, shared with the test that moves it. Null: the
// machine's.
Result<std::unique_ptr<Store>> open_store(SqliteOptions options, std::shared_ptr<StoreClock> clock);
// As semel::borrow_sqlite.
Result<std::unique_ptr<Store>> borrow_store(sqlite3* connection, bool create_tables,
                                            std::shared_ptr<StoreClock> clock);

}  // namespace semel::sqlite
