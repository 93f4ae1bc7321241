// StoreContext: shared by the ports of one opened store.
#pragma once

#include <memory>

#include <semel/mysql.h>
#include <semel/spi/unit_of_work.h>

#include "stores/mysql/generations.h"
#include "stores/mysql/instance_lock.h"
#include "stores/mysql/key_trend.h"
#include "stores/mysql/record_batch.h"
#include "stores/mysql/wire.h"
#include "stores/sql/store_context.h"

namespace semel::mysql {

struct StoreContext {
  using Session = Connection;

  StoreContext(const MySqlOptions& options, Endpoint where, std::chrono::milliseconds grace,
               Environment& the_environment);
  // Over one borrowed connection.
  explicit StoreContext(st_mysql* borrowed);
  StoreContext(const StoreContext&) = delete;
  StoreContext& operator=(const StoreContext&) = delete;

  const Endpoint endpoint;
  Environment& environment;
  const Dialect dialect;
  const sql::TableTexts texts;
  Generations generations;
  InstanceLock instance_lock;
  sql::Pool pool;
  KeyTrend trend;
  const sql::StoreContext shared{pool, texts, instance_lock, instance_lock};
};

std::unique_ptr<TransactionalStore> make_units(StoreContext& context);

}  // namespace semel::mysql
