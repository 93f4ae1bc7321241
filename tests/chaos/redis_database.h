// A test bed's database: names with a prefix of their own on a Redis server or a
// Cluster.
#pragma once

#include <memory>

#include "tests/chaos/database.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/redis_server.h"

namespace semel::test {

// `port`: where the workers find the server, which may be a proxy's; zero: the server's own.
std::unique_ptr<Database> make_redis_database(const RedisServer& server, int port = 0);

// The same on a Cluster. `replicas`: how many replicas must have the test bed's own writes, like
// wait_replicas.
std::unique_ptr<Database> make_cluster_database(const RedisCluster& cluster, int replicas = 0);

}  // namespace semel::test
