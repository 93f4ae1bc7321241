// The procedures in a database of its own, and sessions of clients that have only the client
// library. For tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <semel/spi/unit_of_work.h>

#include "stores/mysql/functions.h"
#include "stores/mysql/store.h"
#include "tests/support/builders.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/test_environment.h"

namespace semel::mysql {

// A client's session. Not thread-safe.
class ClientSession {
 public:
  // `charset`: the declared character set of its texts.
  explicit ClientSession(const std::string& url, const char* charset = "utf8mb4");
  ~ClientSession();
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  // The rows of the first result: fields with a "|" between them, rows with a "\n"; NULL as
  // nothing. An error fails the test.
  std::string ask(const std::string& sql);
  // The same, field by field: a nonce may contain any byte.
  using Rows = std::vector<std::vector<std::string>>;
  Rows rows(const std::string& sql);
  // Returns the error with which it ends.
  struct Refusal {
    std::string state;  // SQLSTATE; empty where there was no error
    std::string message;
    unsigned code = 0;
  };
  Refusal refused(const std::string& sql);
  // Both.
  struct Answer {
    Rows rows;
    Refusal refusal;
  };
  Answer run(const std::string& sql);

 private:
  st_mysql* const connection_;
};

class FunctionsTest : public testing::TestWithParam<test::SharedMySqlServer> {
 protected:
  static constexpr std::chrono::milliseconds kTtl = std::chrono::hours(2);

  FunctionsTest();

  static const test::MySqlFamilyServer& server() { return GetParam()(); }
  std::string url() const { return server().url(database_); }
  // The same for another user, who has no password.
  std::string url_of(const std::string& user) const;
  // As the servers' client would run it.
  std::string sql(const std::string& text) const { return server().query(database_, text); }
  void advance(std::chrono::milliseconds by) const;
  // Statements for a session, the one that is stricter last: what becomes of a transaction that
  // meets a row that changed since its snapshot. One that does nothing where the server has no
  // choice.
  std::vector<std::string> snapshot_settings() const;
  // As another process has it, with the same consumer.
  std::unique_ptr<Store> another_store() const;

  // Returns only the outcome of a claim of consumer `payments`.
  static std::string claimed(ClientSession& session, std::string_view key,
                             std::string_view payload = "{}");
  // Returns the first column of a call's answer.
  static std::string called(ClientSession& session, std::string_view call);
  struct Begun {
    std::string outcome;
    Lease lease;
    std::string rest;  // attempt|taken_over
  };
  Begun begun(ClientSession& session, std::string_view key, std::string_view lease = "3600",
              std::string_view payload = "{}") const;
  static std::string hex(BytesView content);
  static std::string hex(const Nonce& nonce);
  static std::string text(BytesView content);

  // A unit that has claimed this one message; null where another holds its key.
  static std::unique_ptr<UnitOfWork> claim_in_unit(Store& store, const Message& message,
                                                   Claim& answer);
  static Claim claim(Store& store, const Message& message,
                     std::chrono::milliseconds lease = std::chrono::hours(1));

  // The server undid a transaction that met such a row.
  static constexpr unsigned kRowChanged = 1020;

  const std::string database_;
  const std::unique_ptr<Store> store_;
  const ConsumerNumber consumer_;
  ClientSession client_;
};

// The names of tests that run on both servers.
inline std::string name_of_server(const testing::TestParamInfo<test::SharedMySqlServer>& server) {
  return server.index == 0 ? "mariadb" : "mysql8";
}
}  // namespace semel::mysql
