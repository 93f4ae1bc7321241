// Payments that come from a stream of a Redis server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/cli/ground.h"
#include "tests/support/redis_server.h"
#include "tests/support/redis_stream.h"

namespace semel::test {

class RedisStreamsTestBed {
 public:
  struct Options {
    DatabaseKind database_kind = DatabaseKind::kSqlite;
    std::string consumer = {};        // of the group; empty: a new name for each run
    std::size_t copied = 3;           // each so-manyth payment comes twice
    std::string more_of_source = {};  // as in YAML: "prefetch: 5"
    std::string more = {};            // lines of the consumer
    std::string key = "json:/id";
    std::string handler = kPaymentHandler;
  };
  explicit RedisStreamsTestBed(const RedisServer& server)
      : RedisStreamsTestBed(server, Options()) {}
  RedisStreamsTestBed(const RedisServer& server, const Options& options);

  const RedisStream& stream() const { return stream_; }
  std::string config() const { return ground_.config(); }
  std::size_t config_lines() const { return ground_.config_lines(); }
  Ran semel(Words words) const { return ground_.semel(std::move(words)); }
  Ran run_once() const { return semel({"run", "--once", "-o", "json", "-q"}); }
  std::unique_ptr<Program> start() const {
    return std::make_unique<Program>(Words{"run", config()});
  }
  // Until all that was added is done; then sends it home. Nothing was done twice, and nothing is
  // left of the group.
  void finish(Program& runner) const;
  // One run to the end, with another value in the source's place.
  Ran run_with(const std::string& set) const;

  // So many new payments of amounts that differ, some of them twice.
  void publish(std::size_t payments);
  // All of them once more, and a run: nothing happens.
  void expect_nothing_happens_again() const;
  std::int64_t published_sum() const { return sum_; }
  std::size_t published() const { return next_; }
  std::size_t deliveries() const { return deliveries_; }

  void sql(const std::string& text) const { ground_.sql(text); }
  std::int64_t number(const std::string& query) const { return ground_.number(query); }
  std::int64_t sum() const { return ground_.sum(); }
  std::int64_t last_effect() const { return ground_.last_effect(); }
  bool all_done() const { return sum() == sum_; }
  void expect_each_once() const { ground_.expect_each_once(next_, sum_); }

 private:
  std::vector<std::string> payloads(std::size_t first, std::size_t last) const;

  const std::size_t copied_;
  const RedisStream stream_;
  const GroundTestBed ground_;
  std::size_t next_ = 0;
  std::size_t deliveries_ = 0;
  std::int64_t sum_ = 0;
};

}  // namespace semel::test
