#include "stores/mysql/core.h"

#include <utility>

namespace semel::mysql {
namespace {

// Independent of the time zone of a borrowed session.
constexpr const char* kAnyonesClock = "UTC_TIMESTAMP(6)";

}  // namespace

Core::Core(const MySqlOptions& options, Place where, std::chrono::milliseconds grace,
           Environment& the_environment)
    : place(std::move(where)),
      environment(the_environment),
      texts(dialect),
      generations(dialect, place.clock),
      presence(place, dialect, grace, options.connections + 1),
      pool([this] { return std::make_unique<Connection>(place); }, options.connections,
           options.busy) {}

Core::Core(st_mysql* borrowed)
    : place{{}, kAnyonesClock, Place{}.patience},
      environment(system_environment()),
      texts(dialect),
      generations(dialect, place.clock),
      presence(place, dialect, {}, 1),
      pool([this, borrowed] { return std::make_unique<Connection>(place, borrowed); }, 0,
           place.patience) {}

}  // namespace semel::mysql
