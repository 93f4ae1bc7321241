// Payments that come from a NATS stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/cli/ground.h"
#include "tests/support/nats_server.h"

namespace semel::test {

class NatsTestBed {
 public:
  struct Options {
    DatabaseKind database_kind = DatabaseKind::kSqlite;
    std::string url = {};             // as the program is told; empty: the server's
    std::size_t copied = 3;           // each so-manyth payment comes twice
    std::string more_of_source = {};  // as in YAML: "prefetch: 5"
    std::string more = {};            // lines of the consumer
    std::string key = "json:/id";
    std::string stream = {};  // members of its config in JSON, each with a comma before it
  };
  static constexpr const char* kDurable = "payments";

  explicit NatsTestBed(const NatsServer& server) : NatsTestBed(server, Options()) {}
  NatsTestBed(const NatsServer& server, const Options& options);

  const NatsServer& server() const { return server_; }
  const std::string& stream() const { return stream_; }
  std::string config() const { return ground_.config(); }
  std::size_t config_lines() const { return ground_.config_lines(); }
  Ran semel(Words words) const { return ground_.semel(std::move(words)); }
  std::unique_ptr<Program> start() const {
    return std::make_unique<Program>(Words{"run", config()});
  }
  // Until all that was published is done; then sends it home. Nothing was done twice, and nothing
  // is left at the server.
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
  NatsServer::Counts counts() const { return server_.counts(stream_, kDurable); }

  std::int64_t number(const std::string& query) const { return ground_.number(query); }
  std::int64_t sum() const { return ground_.sum(); }
  std::int64_t last_effect() const { return ground_.last_effect(); }
  bool all_done() const { return sum() == sum_; }
  void expect_each_once() const { ground_.expect_each_once(next_, sum_); }

 private:
  std::vector<std::string> bodies(std::size_t first, std::size_t last) const;
  void send(const std::vector<std::string>& bodies) const;

  const NatsServer& server_;
  const std::size_t copied_;
  const std::string stream_;
  const GroundTestBed ground_;
  std::size_t next_ = 0;
  std::size_t deliveries_ = 0;
  std::int64_t sum_ = 0;
};

}  // namespace semel::test
