// Shared by the tests of the Redis client and of the Redis store.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "core/failure.h"
#include "tests/support/redis_server.h"

namespace semel::redis {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

inline const test::RedisServer& shared() { return test::RedisServer::shared(); }

// Runs `work` and returns the error it throws.
inline Error error_from(const std::function<void()>& work) {
  try {
    work();
  } catch (const core::Failure& failed) {
    return failed.error();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

}  // namespace semel::redis
