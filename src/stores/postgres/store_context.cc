#include "stores/postgres/store_context.h"

#include <utility>

namespace semel::postgres {

StoreContext::StoreContext(PostgresOptions wanted, Endpoint where, InstanceLockOptions lock_options,
                           Environment& the_environment)
    : options(std::move(wanted)),
      endpoint(std::move(where)),
      environment(the_environment),
      dialect(endpoint.schema),
      session_texts(dialect, endpoint.clock),
      texts(dialect),
      batch_texts(dialect, endpoint.clock),
      generations(dialect, endpoint.clock, texts.consumers),
      instance_lock(endpoint, dialect, lock_options),
      pool([this] { return std::make_unique<Connection>(endpoint, dialect, session_texts); },
           options.connections, options.busy) {}

StoreContext::StoreContext(PGconn* borrowed, std::string schema, bool prepares)
    : endpoint{{}, std::move(schema), Endpoint{}.clock, Endpoint{}.patience},
      environment(system_environment()),
      dialect(endpoint.schema),
      session_texts(dialect, endpoint.clock),
      texts(dialect),
      batch_texts(dialect, endpoint.clock),
      generations(dialect, endpoint.clock, texts.consumers),
      instance_lock(endpoint, dialect, {false, {}}),
      pool(
          [this, borrowed, prepares] {
            return std::make_unique<Connection>(borrowed, prepares, dialect, session_texts);
          },
          1, endpoint.patience) {}

}  // namespace semel::postgres
