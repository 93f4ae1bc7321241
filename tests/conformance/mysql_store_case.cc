// MariaDB and MySQL join the suites: each place has a database of a real server to itself.
#include <mysql.h>
#include <semel/mysql.h>

#include <charconv>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "stores/mysql/instance_lock.h"
#include "stores/mysql/store.h"
#include "stores/mysql/url.h"
#include "tests/conformance/finish_model.h"
#include "tests/conformance/unit_model.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/pooled_database.h"
#include "tests/support/test_environment.h"

namespace semel::conformance {
namespace {

// mysql, as it were.
class OtherMySqlProgram {
 public:
  explicit OtherMySqlProgram(const std::string& url) : connection_(mysql_init(nullptr)) {
    const mysql::Target target = mysql::target_of(url);
    if (mysql_real_connect(connection_, target.host.c_str(), target.user.c_str(),
                           target.password.c_str(), target.database.c_str(), target.port, nullptr,
                           0) == nullptr) {
      throw std::runtime_error(mysql_error(connection_));
    }
    run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    run("SET SESSION time_zone = '+00:00'");
  }
  ~OtherMySqlProgram() { mysql_close(connection_); }
  OtherMySqlProgram(const OtherMySqlProgram&) = delete;
  OtherMySqlProgram& operator=(const OtherMySqlProgram&) = delete;

  Rows run(const std::string& sql) {
    if (mysql_real_query(connection_, sql.data(), sql.size()) != 0) {
      throw std::runtime_error(sql + ": " + mysql_error(connection_));
    }
    Rows rows;
    MYSQL_RES* const result = mysql_store_result(connection_);
    if (result == nullptr) return rows;
    const unsigned columns = mysql_num_fields(result);
    const MYSQL_FIELD* const fields = mysql_fetch_fields(result);
    while (const MYSQL_ROW row = mysql_fetch_row(result)) {
      const unsigned long* const sizes = mysql_fetch_lengths(result);
      auto& values = rows.rows.emplace_back();
      for (unsigned at = 0; at < columns; ++at) {
        values.push_back(row[at] == nullptr ? Value(Null{})
                                            : value(fields[at], {row[at], sizes[at]}));
      }
    }
    mysql_free_result(result);
    return rows;
  }

 private:
  // Bytes as text where they are text, as a person reads them.
  static Value value(const MYSQL_FIELD& field, std::string_view text) {
    if (IS_NUM(field.type)) {
      std::int64_t number = 0;
      std::from_chars(text.data(), text.data() + text.size(), number);
      return number;
    }
    if (text.find('\0') == std::string_view::npos) return std::string(text);
    return Blob{Bytes(text)};
  }

  MYSQL* connection_;
};

class MySqlPlace final : public StorePlace {
 public:
  enum class Flavour { kMariaDb, kMySql };
  MySqlPlace(const test::MySqlFamilyServer& server, Flavour flavour)
      : flavour_(flavour), server_(server), database_(server), other_(database_.url()) {
    other_.run("CREATE TABLE moved (micros BIGINT NOT NULL, since DATETIME(6) NOT NULL)");
    other_.run("INSERT INTO moved VALUES (0, NOW(6))");
  }

  std::unique_ptr<Store> open() override {
    MySqlOptions options;
    options.url = database_.url();
    options.environment = &environment_;
    mysql::InnerOptions inner;
    // The clock runs slowly by itself: on a busy machine a test takes longer than the times that it
    // measures.
    inner.clock =
        "(SELECT since + INTERVAL micros + TIMESTAMPDIFF(MICROSECOND, since, NOW(6)) DIV 10 "
        "MICROSECOND FROM moved)";
    inner.grace = milliseconds(0);
    auto store = mysql::open_store(std::move(options), inner);
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    return store ? std::move(*store) : nullptr;
  }
  void advance(milliseconds by) override {
    other_.run("UPDATE moved SET micros = micros + " + std::to_string(by.count() * 1000));
    clock_.advance(by);
  }
  bool draw_only(std::optional<std::uint64_t> number) override {
    random_.set(number);
    return true;
  }
  bool set_back(milliseconds by) override {
    other_.run("UPDATE moved SET micros = micros - " + std::to_string(by.count() * 1000));
    return true;
  }
  std::function<Rows(const std::string&)> other_program() override {
    return [this](const std::string& sql) {
      Rows rows = other_.run(sql);
      // Before 8.0.16 MySQL reads a CHECK, and forgets it.
      if (flavour_ == Flavour::kMySql && sql.starts_with("CREATE TABLE reservation")) {
        other_.run(
            "CREATE TRIGGER checked BEFORE INSERT ON reservation FOR EACH ROW IF NEW.amount <= 0 "
            "THEN SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 3819; END IF");
      }
      return rows;
    };
  }
  void notice_death(pid_t pid) override {
    // All locks of its sessions are free: the server has seen the end of each.
    const std::string noticed =
        "SELECT COUNT(*) FROM semel_instance AS i JOIN information_schema.processlist AS p WHERE "
        "i.pid = " +
        std::to_string(pid) + " AND (IS_FREE_LOCK(" +
        mysql::lock_name(mysql::kInstance, "i.number") + ") = 0 OR IS_FREE_LOCK(" +
        mysql::session_lock("i.number", "p.id") + ") = 0)";
    while (std::get<std::int64_t>(other_.run(noticed).rows.at(0).at(0)) != 0) {
      std::this_thread::sleep_for(1ms);
    }
  }
  bool somebody_waits() override { return server_.lock_waiters(database_.name()) > 0; }
  bool may_return_rows() override { return flavour_ == Flavour::kMariaDb; }
  bool lock_oldest_held() override {
    other_.run("BEGIN");
    other_.run("SELECT row_id FROM semel_held ORDER BY row_id LIMIT 1 FOR UPDATE");
    return true;
  }
  void let_go() override { other_.run("COMMIT"); }
  bool park_in_line(const Bytes& line) override {
    other_.run("UPDATE semel_held SET line = '" + line +
               "', place = 0, line_bytes = 0 WHERE line IS NULL");
    return true;
  }
  std::vector<std::string> own_tables() override {
    std::vector<std::string> names;
    const Rows rows = other_.run(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND "
        "table_type = 'BASE TABLE' AND LEFT(table_name, 6) = 'semel_'");
    for (const auto& row : rows.rows) names.push_back(std::get<std::string>(row[0]));
    return names;
  }

 private:
  Flavour flavour_;
  const test::MySqlFamilyServer& server_;
  const test::PooledDatabase database_;
  OtherMySqlProgram other_;
  test::PassingClock clock_;
  test::SettableRandom random_;
  Environment environment_{&clock_, &random_, system_environment().failpoints};
};

std::vector<StoreCase> servers() {
  using Flavour = MySqlPlace::Flavour;
  std::vector<StoreCase> cases = {{"mariadb", []() -> std::unique_ptr<StorePlace> {
                                     return std::make_unique<MySqlPlace>(
                                         test::MariaDbServer::shared(), Flavour::kMariaDb);
                                   }}};
  // Without a MySQL 8, the test servers.mysql8.absent shows that.
  if (test::MySqlServer::why_absent()) return cases;
  cases.push_back({"mysql8", []() -> std::unique_ptr<StorePlace> {
                     return std::make_unique<MySqlPlace>(test::MySqlServer::shared(),
                                                         Flavour::kMySql);
                   }});
  return cases;
}

const auto kServers = testing::ValuesIn(servers());

INSTANTIATE_TEST_SUITE_P(MySql, StoreSuite, kServers, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, StoreModelSuite, kServers, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, FinishModelSuite, kServers, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, HeldLinesSuite, kServers, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, HeldSuite, kServers, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, DeadLetterSuite, kServers, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, RecordsSuite, kServers, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, PositionsSuite, kServers, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, GatesSuite, kServers, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, AuditSuite, kServers, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, StepsSuite, kServers, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, RunMarkersSuite, kServers, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, UnitSuite, kServers, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, UnitStatementSuite, kServers, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, UnitModelSuite, kServers, kStoreCaseName);

}  // namespace
}  // namespace semel::conformance
