#include "tests/chaos/redis_database.h"

#include <fmt/format.h>

#include <stdexcept>

#include <semel/held_messages.h>
#include <semel/records.h>
#include <semel/redis.h>

namespace semel::test {
namespace {

template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

class RedisDatabase final : public Database {
 public:
  RedisDatabase(const RedisServer& server, int port)
      : server_(server),
        prefix_(server.new_database() + ":"),
        url_(port == 0 ? server.url() : fmt::format("redis://127.0.0.1:{}/0", port)) {}

  std::string place() const override { return url_ + " " + prefix_; }
  std::unique_ptr<Store> open() const override { return open(server_.url()); }
  std::unique_ptr<Store> open_at_place() const override { return open(url_); }

  std::size_t held() const override {
    std::size_t held = 0;
    for (const auto& one : stats().consumers) held += one.held;
    return held;
  }
  std::map<std::string, std::string> dead() const override {
    const auto store = open();
    std::map<std::string, std::string> dead;
    for (const DeadLetter& one : value_of(store->facets().dead_letters->list({}))) {
      dead[one.key] = one.reason;
    }
    return dead;
  }
  // Counted by what stands there: the letter of its state behind the version.
  std::size_t completed() const override {
    return std::stoul(
        server_.run({"EVAL",
                     "local n = 0 for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '{??}*')) do "
                     "if redis.call('GETRANGE', key, 1, 1) == 'D' then n = n + 1 end end return n",
                     "0", prefix_}));
  }

 private:
  std::unique_ptr<Store> open(const std::string& url) const {
    RedisOptions options;
    options.url = url;
    options.prefix = prefix_;
    options.accept_eviction = true;  // the scene only looks
    return value_of(open_redis(std::move(options)));
  }
  StoreStats stats() const { return value_of(open()->facets().records->stats()); }

  const RedisServer& server_;
  const std::string prefix_;
  const std::string url_;
};

}  // namespace

std::unique_ptr<Database> make_redis_database(const RedisServer& server, int port) {
  return std::make_unique<RedisDatabase>(server, port);
}

std::unique_ptr<Database> make_database(const TempDir&) {
  return make_redis_database(RedisServer::shared());
}

std::size_t share_of_rounds() { return 10; }

bool has_tables() { return false; }

bool has_steps() { return false; }

}  // namespace semel::test
