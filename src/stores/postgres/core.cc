#include "stores/postgres/core.h"

#include <utility>

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

Core::Core(PGconn* borrowed, std::string schema, bool prepares)
    : place{{}, std::move(schema), Place{}.clock, Place{}.patience},
      environment(system_environment()),
      dialect(place.schema),
      session_texts(dialect, place.clock),
      texts(dialect),
      batch_texts(dialect, place.clock),
      generations(dialect, place.clock, texts.consumers),
      presence(place, dialect, {false, {}}),
      pool(
          [this, borrowed, prepares] {
            return std::make_unique<Connection>(borrowed, prepares, dialect, session_texts);
          },
          1, place.patience) {}

}  // namespace semel::postgres
