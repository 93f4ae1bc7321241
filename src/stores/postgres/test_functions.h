// The SQL functions in a LiveTest's database, and sessions of clients that have only libpq.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "stores/postgres/functions.h"
#include "stores/postgres/test_live_place.h"

namespace semel::postgres {

// A client's session. Not thread-safe.
class ClientSession {
 public:
  explicit ClientSession(const std::string& url);
  ~ClientSession();
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  // Formats rows as psql would: fields with a "|" between them, rows with a "\n"; NULL as nothing.
  // An error fails the test.
  std::string ask(const std::string& sql);
  // Returns the error with which it ends.
  struct Refusal {
    std::string state;  // SQLSTATE; empty where there was no error
    std::string message;
    std::string hint;
  };
  Refusal refused(const std::string& sql);
  PGconn* connection() const noexcept { return connection_; }

 private:
  PGconn* const connection_;
};

class FunctionsTest : public LiveTest {
 protected:
  FunctionsTest();

  // Returns only the outcome of a claim of consumer `payments`.
  static std::string claimed(ClientSession& session, std::string_view key,
                             std::string_view payload = "{}");
  // Returns the answer of one function.
  static std::string called(ClientSession& session, std::string_view call);
  struct Begun {
    std::string outcome;
    Lease lease;
    std::string rest;  // attempt|taken_over
  };
  Begun begun(ClientSession& session, std::string_view key, std::string_view lease = "1 hour",
              std::string_view payload = "{}") const;
  static std::string bytes(BytesView content);

  const std::unique_ptr<Store> store_;
  const ConsumerNumber consumer_;
  ClientSession client_;
};

}  // namespace semel::postgres
