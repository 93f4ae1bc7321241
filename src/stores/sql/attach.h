// Attaches a consumer, on every server.
#pragma once

#include <semel/spi/store.h>

#include "stores/sql/store_context.h"
#include "stores/sql/transacted.h"

namespace semel::sql {

// Implements Store::attach. `context.generations.lock` excludes others from the decision how long
// records are kept, `make_missing` begins a generation for the ttl where there is none, and
// `change_ttl` keeps existing records for the longer of the two times: all in their session's
// transaction. So whoever may not make it changes nothing, and on PostgreSQL, where not everybody
// may, a consumer whose ttl is committed has a generation. Throws Failure: R220 as Store::attach.
template <class ServerCore>
ConsumerNumber attach_to(ServerCore& context, const ConsumerSpec& spec) {
  using Connection = typename ServerCore::Session;
  auto& generations = context.generations;
  const ConsumerNumber number = transacted(context.pool, [&](ScopedTransaction& work) {
    Tables tables = context.shared.tables(work.session());
    auto& connection = static_cast<Connection&>(work.session());
    auto row = tables.consumers.find(spec.name);
    if (!row) {
      generations.make_missing(connection, spec.ttl);
      row = tables.consumers.add(spec, connection.next_number(Counter::kConsumer));
    }
    Consumers::check_recipe(*row, spec);
    if (row->recipe_hash == spec.recipe_hash && row->ttl == spec.ttl) return row->number;
    generations.lock(connection);
    // Read again: another may have changed it meanwhile.
    row = tables.consumers.find(spec.name);
    Consumers::check_recipe(*row, spec);
    // Before the tables of records are locked: one who drops such a table locks them in this order.
    generations.make_missing(connection, spec.ttl);
    if (row->ttl != spec.ttl) generations.change_ttl(connection, row->ttl, spec.ttl);
    tables.consumers.change(row->number, spec);
    return row->number;
  });
  generations.forget();
  PooledSession lent(context.pool);
  // Makes one that an earlier version left out, as a user that may: a consumer that only works
  // needs no right to make tables.
  generations.active(static_cast<Connection&>(*lent), number);
  return number;
}

}  // namespace semel::sql
