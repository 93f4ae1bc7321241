#include "stores/mysql/store_context.h"

#include <utility>

namespace semel::mysql {
namespace {

// Independent of the time zone of a borrowed session.
constexpr const char* kAnyonesClock = "UTC_TIMESTAMP(6)";

}  // namespace

StoreContext::StoreContext(const MySqlOptions& options, Endpoint where,
                           std::chrono::milliseconds grace, Environment& the_environment)
    : endpoint(std::move(where)),
      environment(the_environment),
      texts(dialect),
      generations(dialect, endpoint.clock),
      instance_lock(endpoint, dialect, grace, options.connections + 1),
      pool([this] { return std::make_unique<Connection>(endpoint); }, options.connections,
           options.busy) {}

StoreContext::StoreContext(st_mysql* borrowed)
    : endpoint{{}, kAnyonesClock, Endpoint{}.patience},
      environment(system_environment()),
      texts(dialect),
      generations(dialect, endpoint.clock),
      instance_lock(endpoint, dialect, {}, 1),
      pool([this, borrowed] { return std::make_unique<Connection>(endpoint, borrowed); }, 0,
           endpoint.patience) {}

}  // namespace semel::mysql
