// A prefix of its own on a Cluster, with stores opened on it as several processes would open them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "stores/redis/test_place.h"
#include "tests/support/redis_cluster.h"

namespace semel::redis {

class ClusterTest : public testing::Test {
 protected:
  // The environment must outlive it.
  std::unique_ptr<Store> open(Environment& environment) {
    RedisOptions options;
    options.url = cluster_.url();
    options.prefix = prefix_;
    options.environment = &environment;
    auto store = open_redis(options).value();
    consumer_ = store->attach({"payments", "recipe", false, {}}).value();
    return store;
  }

  const test::RedisCluster& cluster_ = test::RedisCluster::shared();
  const std::string prefix_ = cluster_.new_prefix();
  ConsumerNumber consumer_{};
};

}  // namespace semel::redis
