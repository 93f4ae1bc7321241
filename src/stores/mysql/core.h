// Core: shared by the ports of one opened store.
#pragma once

#include <memory>

#include <semel/mysql.h>
#include <semel/spi/unit_of_work.h>

#include "stores/mysql/generations.h"
#include "stores/mysql/key_trend.h"
#include "stores/mysql/presence.h"
#include "stores/mysql/record_batch.h"
#include "stores/mysql/wire.h"
#include "stores/sql/core.h"

namespace semel::mysql {

struct Core {
  using Session = Connection;

  Core(const MySqlOptions& options, Place where, std::chrono::milliseconds grace,
       Environment& the_environment);
  // Over one borrowed connection.
  explicit Core(st_mysql* borrowed);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  const Place place;
  Environment& environment;
  const Dialect dialect;
  const sql::TableTexts texts;
  Generations generations;
  Presence presence;
  sql::Pool pool;
  KeyTrend trend;
  const sql::Core shared{pool, texts, presence, presence};
};

std::unique_ptr<TransactionalStore> make_units(Core& core);

}  // namespace semel::mysql
