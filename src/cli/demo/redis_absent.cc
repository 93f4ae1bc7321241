// For builds without Redis: the demo does not use it, even if the machine has it.
#include "cli/demo/redis.h"
#include "core/not_built.h"

namespace semel::cli::demo {
namespace {

Error demo_lacks_redis() { return core::not_built("Redis", "REDIS"); }

// Never called: a server is started only if find_redis_server() has found one.
[[noreturn]] ProcessSpec refuse_without_redis() { throw SemelError(demo_lacks_redis()); }

}  // namespace

std::optional<std::string> find_redis_server() { return std::nullopt; }

Error no_redis_server() { return demo_lacks_redis(); }

std::string redis_socket(const std::string& folder) { return folder + "/redis.sock"; }

RedisServer::RedisServer(const std::string&, const std::string&)
    : process_(refuse_without_redis()) {}

Redis::Redis(const std::string&) { refuse_without_redis(); }
Redis::~Redis() { context_ = nullptr; }

bool Redis::set_nx(const std::string&) { refuse_without_redis(); }
bool Redis::ping() { refuse_without_redis(); }

}  // namespace semel::cli::demo
