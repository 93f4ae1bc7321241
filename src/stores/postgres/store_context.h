// StoreContext: shared by the ports of one opened store.
#pragma once

#include <memory>
#include <string>

#include <semel/postgres.h>
#include <semel/spi/unit_of_work.h>

#include "stores/postgres/generations.h"
#include "stores/postgres/instance_lock.h"
#include "stores/postgres/record_batch.h"
#include "stores/sql/store_context.h"

namespace semel::postgres {

struct StoreContext {
  using Session = Connection;

  StoreContext(PostgresOptions wanted, Endpoint where, InstanceLockOptions lock_options,
               Environment& the_environment);
  // Over one borrowed connection; `prepares`: as for Connection.
  StoreContext(PGconn* borrowed, std::string schema, bool prepares);
  StoreContext(const StoreContext&) = delete;
  StoreContext& operator=(const StoreContext&) = delete;

  const PostgresOptions options;
  const Endpoint endpoint;
  Environment& environment;
  const Dialect dialect;
  const SessionTexts session_texts;
  const sql::TableTexts texts;
  const BatchTexts batch_texts;
  Generations generations;
  InstanceLock instance_lock;
  sql::Pool pool;
  const sql::StoreContext shared{pool, texts, instance_lock, instance_lock};
};

std::unique_ptr<TransactionalStore> make_units(StoreContext& context);

}  // namespace semel::postgres
