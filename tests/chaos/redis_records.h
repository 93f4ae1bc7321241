// A test bed's questions to Redis, on a server or a Cluster: through the store and around it.
#pragma once

#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <semel/admin/records.h>
#include <semel/redis.h>
#include <semel/spi/held_messages.h>

#include "stores/redis/run_markers.h"
#include "tests/chaos/database.h"

namespace semel::test {

class RedisRecords : public Database {
 public:
  std::size_t held() const override {
    std::size_t held = 0;
    for (const auto& one : value_of(open()->facets().records->stats()).consumers) {
      held += one.held + one.parked;
    }
    return held;
  }
  std::map<std::string, std::string> dead() const override {
    const auto store = open();
    std::map<std::string, std::string> dead;
    DeadLetterFilter all;
    all.limit = 1'000'000;
    for (const DeadLetter& one : value_of(store->facets().dead_letters->list(all))) {
      dead[one.key] = one.reason;
    }
    return dead;
  }
  // Simulates that the time has passed in which a process with a lost connection may return.
  void notice_deaths() const final { age_signs(); }

 protected:
  virtual void age_signs() const = 0;
  template <class T>
  static T value_of(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message);
    return *std::move(result);
  }
  static std::vector<std::string> age_signs_of(const std::string& prefix) {
    const auto left = redis::kAlive - redis::kSure - std::chrono::milliseconds(1);
    return {"EVAL",
            "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
            "redis.call('PEXPIRE', key, ARGV[2]) end return 0",
            "0", prefix + "{store}alive:*", std::to_string(left.count())};
  }
  // Counts the completed records of one server by their stored form: the letter of the state
  // follows the version. A slot that is moving to another node cannot be read on this server.
  static std::vector<std::string> count_completed(const std::string& prefix) {
    return {"EVAL",
            "local n = 0 for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '{??}*')) do "
            "if redis.pcall('GETRANGE', key, 1, 1) == 'D' then n = n + 1 end end return n",
            "0", prefix};
  }
};

}  // namespace semel::test
