// Shared by the store's tests: a prefix of its own on a server, and single calls.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "clients/redis/test_client.h"
#include "stores/redis/names.h"
#include "stores/redis/record.h"
#include "stores/redis/store.h"
#include "tests/support/builders.h"
#include "tests/support/redis_server.h"

namespace semel::redis {

inline Error error_of_opening(RedisOptions options) {
  const auto store = open_redis(std::move(options));
  EXPECT_FALSE(store.has_value());
  return store ? Error{} : store.error();
}

// As if all processes there had died, some time ago.
inline void end_sessions(const test::RedisServer& server, const std::string& prefix) {
  server.run({"EVAL",
              "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', key) end",
              "0", prefix + "{store}alive:*"});
  std::istringstream sessions(server.run({"HVALS", prefix + "{store}sessions"}));
  for (std::string life, number; sessions >> life >> number;) {
    server.query("CLIENT KILL ID " + number);
  }
}

class TestPlace {
 public:
  // The server must outlive it. `url`: another route to it.
  explicit TestPlace(const test::RedisServer& server, std::string url = {},
                     std::string clock = kServerClock)
      : server_(server),
        url_(url.empty() ? server.url() : std::move(url)),
        prefix_(server.new_database() + ":"),
        clock_(std::move(clock)) {
    open();
  }

  // A second process on the same store.
  TestPlace(const test::RedisServer& server, const TestPlace& other)
      : server_(server), url_(other.url_), prefix_(other.prefix_), clock_(other.clock_) {
    open();
  }

  const std::string& prefix() const { return prefix_; }
  const test::RedisServer& server() const { return server_; }
  Store& store() { return *store_; }
  ConsumerNumber consumer() const { return consumer_; }
  RedisOptions options() const {
    RedisOptions options;
    options.url = url_;
    options.prefix = prefix_;
    return options;
  }
  void open(std::optional<milliseconds> ttl = std::nullopt) {
    auto store = open_store(options(), {clock_});
    ASSERT_TRUE(store.has_value()) << store.error().message;
    store_ = *std::move(store);
    consumer_ = store_->attach({"payments", "recipe", false, ttl}).value();
  }
  std::string name(const Message& message) const { return Names(prefix_).record(message.key().id); }
  Message message(BytesView key) const { return test::make_message(consumer_, key); }

  Result<Claim> try_claim(const Message& message, milliseconds lease = 60s) {
    const Message* one = &message;
    auto claims = store().claim({&one, 1}, {lease, {}, true});
    if (!claims) return failure(claims.error());
    return claims->front();
  }
  Lease acquire(const Message& message, milliseconds lease = 60s) {
    const auto claim = try_claim(message, lease);
    if (!claim) {
      ADD_FAILURE() << claim.error().message;
      return {};
    }
    EXPECT_TRUE(std::holds_alternative<Acquired>(*claim)) << claim->index();
    return std::holds_alternative<Acquired>(*claim) ? std::get<Acquired>(*claim).lease : Lease{};
  }
  Result<Applied> finish(const Finish& finish) {
    const auto applied = store().finish({&finish, 1});
    if (!applied) return failure(applied.error());
    return applied->front();
  }

 private:
  const test::RedisServer& server_;
  std::string url_;
  std::string prefix_;
  std::string clock_;
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
};

}  // namespace semel::redis
