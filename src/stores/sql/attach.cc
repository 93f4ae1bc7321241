#include "stores/sql/attach.h"

#include "stores/sql/transacted.h"

namespace semel::sql {

Attached attach_in(const Core& core, const ConsumerSpec& spec) {
  return transacted(core.pool, [&](Work& work) {
    Tables tables = core.tables(work.session());
    auto row = tables.consumers.find(spec.name);
    if (!row) row = tables.consumers.add(spec);
    Consumers::check_recipe(*row, spec);
    Attached attached{row->number, std::nullopt};
    if (row->recipe_hash == spec.recipe_hash && row->ttl == spec.ttl) return attached;
    if (row->ttl && (!spec.ttl || *spec.ttl > *row->ttl)) attached.lengthened_from = row->ttl;
    tables.consumers.change(row->number, spec);
    return attached;
  });
}

}  // namespace semel::sql
