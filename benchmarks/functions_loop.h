// A consumer's loop over a client's own connection, in the ways that are compared: its duplicates
// found by an INSERT written by hand, and by the SQL functions. All of them send the same number of
// statements for a message, each in a round trip of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/by_hand.h"
#include "benchmarks/report.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/postgres_server.h"

namespace semel::bench {

enum class ClaimedBy {
  kInsert,        // ON CONFLICT DO NOTHING
  kBareFunction,  // that INSERT alone, in a function with the rights and arguments of claim
  kClaim,         // one key at a time
  kClaimMany,     // a transaction for each batch: one claim, and an effect for each new key
};

// A database of its own with tables, functions and a consumer.
class FunctionsLoop {
 public:
  virtual ~FunctionsLoop() = default;
  FunctionsLoop() = default;
  FunctionsLoop(const FunctionsLoop&) = delete;
  FunctionsLoop& operator=(const FunctionsLoop&) = delete;

  // Claims the key of each message and makes its effect where it is new; how many were.
  std::size_t consume(const std::vector<std::string>& payloads, ClaimedBy how, std::size_t batch);
  virtual const SocketDirectory& place() const noexcept = 0;

 protected:
  struct Message {
    std::string key;
    std::string fingerprint;  // 32 hexadecimal digits
    std::string account, amount;
  };
  virtual void run(const char* sql) = 0;  // BEGIN, COMMIT
  virtual bool insert(const Message& message) = 0;
  virtual bool call_bare_function(const Message& message) = 0;
  virtual bool claim(const Message& message) = 0;
  // Whether each is new, in their order.
  virtual std::vector<bool> claim_many(const std::vector<Message>& messages) = 0;
  virtual void make_effect(const Message& message) = 0;

 private:
  // Whether it is new.
  bool take(const Message& message, ClaimedBy how);
};

std::unique_ptr<FunctionsLoop> make_postgres_loop(const test::PostgresServer& server);
std::unique_ptr<FunctionsLoop> make_mysql_loop(const test::MySqlFamilyServer& server);

}  // namespace semel::bench
