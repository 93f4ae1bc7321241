#include <fmt/format.h>
#include <mysql.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <semel/mysql.h>

#include "benchmarks/functions_loop.h"
#include "benchmarks/measure.h"
#include "benchmarks/server_place.h"

namespace semel::bench {
namespace {

constexpr std::size_t kMySqlAccounts = 10'000;

constexpr char kMySqlBareFunction[] = R"sql(
CREATE PROCEDURE bare_function(
  consumer VARCHAR(63), message_key VARBINARY(255), payload LONGBLOB, fingerprint VARBINARY(16))
SQL SECURITY DEFINER
BEGIN
  INSERT INTO processed_key (message_key, fingerprint) VALUES (message_key, fingerprint)
    ON DUPLICATE KEY UPDATE message_key = processed_key.message_key;
  SELECT IF(ROW_COUNT() = 1, 'new', 'duplicate') AS outcome, NULL AS result, NULL AS retry_after,
         NULL AS reason;
END)sql";

class MySqlLoop final : public FunctionsLoop {
 public:
  explicit MySqlLoop(const test::MySqlFamilyServer& server)
      : place_(make_mysql_place(server, kMySqlAccounts)), connection_(mysql_init(nullptr)) {
    if (!place_->open()->attach({"bench", "recipe", false, std::chrono::hours(1)})) {
      give_up("no consumer");
    }
    const std::string url = place_->url();
    MySqlOptions options;
    options.url = url;
    if (const auto made = make_mysql_functions(options); !made) give_up(made.error().message);
    const std::size_t at = url.rfind('/', url.find('?')) + 1;
    const std::string database = url.substr(at, url.find('?') - at);
    if (mysql_real_connect(connection_, nullptr, "root", nullptr, database.c_str(), 0,
                           server.address().socket.c_str(), CLIENT_MULTI_RESULTS) == nullptr) {
      give_up(mysql_error(connection_));
    }
    run("SET NAMES utf8mb4");
    run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    run("CREATE TABLE processed_key (message_key VARBINARY(255) PRIMARY KEY, fingerprint "
        "VARBINARY(16) NOT NULL, completed_at DATETIME(6) NOT NULL DEFAULT NOW(6)) ENGINE = "
        "InnoDB");
    run(kMySqlBareFunction);
  }
  ~MySqlLoop() override { mysql_close(connection_); }
  const SocketDirectory& place() const noexcept override { return *place_; }

 protected:
  void run(const char* sql) override { ask(sql); }
  bool insert(const Message& message) override {
    return ask(fmt::format("INSERT INTO processed_key (message_key, fingerprint) VALUES ('{}', "
                           "x'{}') ON DUPLICATE KEY UPDATE message_key = message_key",
                           message.key, message.fingerprint))
               .changed == 1;
  }
  bool call_bare_function(const Message& message) override {
    return ask(fmt::format("CALL bare_function('bench', '{}', NULL, x'{}')", message.key,
                           message.fingerprint))
        .fresh.at(0);
  }
  bool claim(const Message& message) override {
    return ask(fmt::format("CALL semel_claim('bench', '{}', NULL, x'{}')", message.key,
                           message.fingerprint))
        .fresh.at(0);
  }
  std::vector<bool> claim_many(const std::vector<Message>& messages) override {
    std::string keys, prints;
    for (const Message& message : messages) {
      const char* const comma = keys.empty() ? "" : ",";
      keys += fmt::format("{}\"{}\"", comma, message.key);
      prints += fmt::format("{}\"{}\"", comma, message.fingerprint);
    }
    outcome_at_ = 2;
    auto answer =
        ask(fmt::format("CALL semel_claim_many('bench', '[{}]', NULL, '[{}]')", keys, prints));
    outcome_at_ = 0;
    return answer.fresh;
  }
  void make_effect(const Message& message) override {
    check_count(ask(fmt::format("UPDATE account SET balance = balance + {} WHERE id = {}",
                                message.amount, message.account))
                    .changed,
                1, "accounts");
  }

 private:
  struct Answer {
    std::size_t changed = 0;
    std::vector<bool> fresh;  // of rows with an outcome
  };
  Answer ask(const std::string& sql) {
    if (mysql_real_query(connection_, sql.data(), sql.size()) != 0) {
      give_up(mysql_error(connection_));
    }
    Answer answer;
    for (;;) {
      if (mysql_field_count(connection_) == 0) {
        answer.changed += mysql_affected_rows(connection_);
      } else if (MYSQL_RES* const rows = mysql_store_result(connection_); rows != nullptr) {
        while (const MYSQL_ROW row = mysql_fetch_row(rows)) {
          answer.fresh.push_back(std::string_view(row[outcome_at_]) == "new");
        }
        mysql_free_result(rows);
      }
      const int more = mysql_next_result(connection_);
      if (more < 0) return answer;
      if (more > 0) give_up(mysql_error(connection_));
    }
  }

  const std::unique_ptr<SocketDirectory> place_;
  MYSQL* const connection_;
  std::size_t outcome_at_ = 0;  // its column
};

}  // namespace

std::unique_ptr<FunctionsLoop> make_mysql_loop(const test::MySqlFamilyServer& server) {
  return std::make_unique<MySqlLoop>(server);
}

}  // namespace semel::bench
