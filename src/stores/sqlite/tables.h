// Tables: everything one connection knows about the store's tables.
#pragma once

#include <cstddef>

#include "stores/sqlite/detail_rows.h"
#include "stores/sqlite/dialect.h"
#include "stores/sqlite/generations.h"
#include "stores/sqlite/held_rows.h"
#include "stores/sqlite/live_rows.h"
#include "stores/sqlite/meta.h"
#include "stores/sqlite/ttls.h"

namespace semel::sqlite {

using sql::ConsumerRow;
using sql::Consumers;

struct Tables : sql::SharedTables {
  Tables(Connection& connection, std::size_t generation_rows)
      : SharedTables(connection, shared_texts()),
        meta(connection),
        ttls(consumers),
        generations(connection, meta, generation_rows),
        live(connection),
        held(connection),
        details(connection) {}

  // Once in each transaction, before all else.
  const Meta::Row& begin() {
    facts = meta.read();
    generations.begin(facts);
    details.begin();
    return facts;
  }

  // Where those that are not completed are found.
  LiveRows& open_records() noexcept { return live; }

  Meta meta;
  Meta::Row facts;  // as this transaction found them
  Ttls ttls;
  Generations generations;
  LiveRows live;
  HeldRows held;
  DetailRows details;
};

}  // namespace semel::sqlite
