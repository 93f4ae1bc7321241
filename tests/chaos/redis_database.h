// A scene's database: names with a prefix of their own on a Redis server.
#pragma once

#include <memory>

#include "tests/chaos/database.h"
#include "tests/support/redis_server.h"

namespace semel::test {

// `port`: where the workers find the server, which may be a proxy's; zero: the server's own.
std::unique_ptr<Database> make_redis_database(const RedisServer& server, int port = 0);

}  // namespace semel::test
