// Attaches a consumer, on every server.
#pragma once

#include <semel/spi/store.h>

#include "stores/sql/store_context.h"
#include "stores/sql/transacted.h"

namespace semel::sql {

// Implements Store::attach. `core.generations.lock` excludes others from the decision how long
// records are kept, and `change_ttl` keeps existing records for the longer of the two times, both
// in their session's transaction. Throws Failure: R220 as Store::attach.
template <class ServerCore>
ConsumerNumber attach_to(ServerCore& context, const ConsumerSpec& spec) {
  using Connection = typename ServerCore::Session;
  auto& generations = context.generations;
  const ConsumerNumber number = transacted(context.pool, [&](ScopedTransaction& work) {
    Tables tables = context.shared.tables(work.session());
    auto row = tables.consumers.find(spec.name);
    if (!row) row = tables.consumers.add(spec, work.session().next_number(Counter::kConsumer));
    Consumers::check_recipe(*row, spec);
    if (row->recipe_hash == spec.recipe_hash && row->ttl == spec.ttl) return row->number;
    auto& connection = static_cast<Connection&>(work.session());
    generations.lock(connection);
    // Read again: another may have changed it meanwhile.
    row = tables.consumers.find(spec.name);
    Consumers::check_recipe(*row, spec);
    if (row->ttl != spec.ttl) generations.change_ttl(connection, row->ttl, spec.ttl);
    tables.consumers.change(row->number, spec);
    return row->number;
  });
  generations.forget();
  PooledSession lent(context.pool);
  // Makes a missing generation now, as a user that may: a consumer that only works needs no right
  // to make tables.
  generations.active(static_cast<Connection&>(*lent), number);
  return number;
}

}  // namespace semel::sql
