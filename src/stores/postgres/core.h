// Core: shared by the ports of one opened store.
#pragma once

#include <memory>
#include <string>

#include <semel/postgres.h>
#include <semel/spi/unit_of_work.h>

#include "stores/postgres/generations.h"
#include "stores/postgres/presence.h"
#include "stores/postgres/record_batch.h"
#include "stores/sql/core.h"

namespace semel::postgres {

struct Core {
  using Session = Connection;

  Core(PostgresOptions wanted, Place where, PresenceOptions presence_options,
       Environment& the_environment);
  // Over one borrowed connection; `prepares`: as for Connection.
  Core(PGconn* borrowed, std::string schema, bool prepares);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  const PostgresOptions options;
  const Place place;
  Environment& environment;
  const Dialect dialect;
  const SessionTexts session_texts;
  const sql::TableTexts texts;
  const BatchTexts batch_texts;
  Generations generations;
  Presence presence;
  sql::Pool pool;
  const sql::Core shared{pool, texts, presence, presence};
};

std::unique_ptr<TransactionalStore> make_units(Core& core);

}  // namespace semel::postgres
