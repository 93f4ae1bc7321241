// StoreContext: shared by the ports of one opened store.
#pragma once

#include <memory>
#include <string>

#include <semel/admin/records.h>
#include <semel/spi/held_messages.h>
#include <semel/spi/unit_of_work.h>
#include <semel/sqlite.h>

#include "stores/sqlite/housekeeper.h"
#include "stores/sqlite/instances.h"
#include "stores/sqlite/reader.h"
#include "stores/sqlite/wake_ups.h"
#include "stores/sqlite/writer.h"

namespace semel::sqlite {

struct StoreContext {
  // The file must be checked and have its tables. Throws Failure.
  StoreContext(SqliteOptions wanted, Environment& environment, StoreClock& the_clock);
  ~StoreContext();
  StoreContext(const StoreContext&) = delete;
  StoreContext& operator=(const StoreContext&) = delete;

  const SqliteOptions options;
  StoreClock& clock;
  Filters filters;
  Writer writer;
  Reader reader;
  Instances instances;
  WakeUps wake_ups;
  std::unique_ptr<Housekeeper> housekeeper;
};

// Throws Failure.
SchemaChange schema_change(const SqliteOptions& options);

ConnectionOptions connection_options(const SqliteOptions& options);

std::unique_ptr<TransactionalStore> make_units(StoreContext& context);
std::unique_ptr<HeldMessages> make_held(StoreContext& context);

}  // namespace semel::sqlite
