#include "stores/postgres/core.h"

#include <utility>

#include "stores/sql/transacted.h"

namespace semel::postgres {

Core::Core(PostgresOptions wanted, Place where, PresenceOptions presence_options,
           Environment& the_environment)
    : options(std::move(wanted)),
      place(std::move(where)),
      environment(the_environment),
      dialect(place.schema),
      session_texts(dialect, place.clock),
      texts(dialect),
      batch_texts(dialect, place.clock),
      generations(dialect, place.clock, texts.consumers),
      presence(place, dialect, presence_options),
      pool([this] { return std::make_unique<Connection>(place, dialect, session_texts); },
           options.connections, options.busy) {}

Core::Core(PGconn* borrowed, std::string schema)
    : place{{}, std::move(schema), Place{}.clock, Place{}.patience},
      environment(system_environment()),
      dialect(place.schema),
      session_texts(dialect, place.clock),
      texts(dialect),
      batch_texts(dialect, place.clock),
      generations(dialect, place.clock, texts.consumers),
      presence(place, dialect, {false, {}}),
      pool([this,
            borrowed] { return std::make_unique<Connection>(borrowed, dialect, session_texts); },
           0, place.patience) {}

ConsumerNumber attach(Core& core, const ConsumerSpec& spec) {
  const ConsumerNumber number = sql::transacted(core.pool, [&](sql::Work& work) {
    sql::Tables tables = core.shared.tables(work.session());
    auto row = tables.consumers.find(spec.name);
    if (!row) row = tables.consumers.add(spec);
    sql::Consumers::check_recipe(*row, spec);
    if (row->recipe_hash == spec.recipe_hash && row->ttl == spec.ttl) return row->number;
    auto& connection = static_cast<Connection&>(work.session());
    core.generations.lock(connection);
    // As it is now: another may have changed it meanwhile.
    row = tables.consumers.find(spec.name);
    sql::Consumers::check_recipe(*row, spec);
    if (row->ttl != spec.ttl) core.generations.change_ttl(connection, row->ttl, spec.ttl);
    tables.consumers.change(row->number, spec);
    return row->number;
  });
  core.generations.forget();
  sql::Lent lent(core.pool);
  auto& connection = static_cast<Connection&>(*lent);
  // Made here, by whoever may: a consumer that only works needs no right to make tables.
  core.generations.active(connection, spec.ttl);
  return number;
}

}  // namespace semel::postgres
