#include "tests/conformance/strategy/mysql_caller.h"

#include <stdexcept>
#include <string>

#include "stores/mysql/url.h"

namespace semel::conformance {

MySqlCaller::MySqlCaller(const test::MySqlFamilyServer& server, const std::string& database,
                         unsigned long flags)
    : connection_(mysql_init(nullptr)) {
  const mysql::Target target = mysql::target_of(server.url(database));
  if (mysql_real_connect(connection_, target.host.c_str(), target.user.c_str(),
                         target.password.c_str(), target.database.c_str(), target.port, nullptr,
                         flags) == nullptr) {
    throw std::runtime_error(mysql_error(connection_));
  }
}

std::string MySqlCaller::ask(const std::string& sql) {
  EXPECT_EQ(refused(sql), 0U) << sql << ": " << mysql_error(connection_);
  const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(
      mysql_store_result(connection_), &mysql_free_result);
  const MYSQL_ROW row = result ? mysql_fetch_row(result.get()) : nullptr;
  if (row == nullptr || row[0] == nullptr) return "";
  return {row[0], mysql_fetch_lengths(result.get())[0]};
}

void MySqlCaller::begin(const std::string& isolation) {
  run("SET TRANSACTION ISOLATION LEVEL " + isolation);
  run("START TRANSACTION");
}

bool MySqlCaller::in_transaction() {
  run("DO 0");
  return (connection_->server_status & SERVER_STATUS_IN_TRANS) != 0;
}

std::string MySqlCaller::end_session() {
  return "KILL " + std::to_string(mysql_thread_id(connection_));
}

unsigned MySqlCaller::refused(const std::string& sql) {
  return mysql_real_query(connection_, sql.data(), sql.size()) == 0 ? 0 : mysql_errno(connection_);
}

std::ostream& operator<<(std::ostream& out, const MySqlServed& served) {
  return out << served.name;
}

std::vector<MySqlServed> mysql_served() {
  std::vector<MySqlServed> all = {{"mariadb", []() -> const test::MySqlFamilyServer& {
                                     return test::MariaDbServer::shared();
                                   }}};
  // Without a MySQL 8, the test servers.mysql8.absent shows that.
  if (!test::MySqlServer::why_absent()) {
    all.push_back(
        {"mysql8", []() -> const test::MySqlFamilyServer& { return test::MySqlServer::shared(); }});
  }
  return all;
}

std::unique_ptr<Store> opened(Result<std::unique_ptr<Store>> store) {
  if (!store) throw SemelError(store.error());
  return *std::move(store);
}

}  // namespace semel::conformance
