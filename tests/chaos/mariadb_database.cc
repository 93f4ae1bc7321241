#include "tests/chaos/mysql_database.h"

namespace semel::test {

std::unique_ptr<Database> make_database(const TempDir&) { return make_database_on_shared(); }

std::size_t share_of_rounds() { return 10; }

std::optional<std::size_t> half_of_matrix() { return 1; }

bool has_tables() { return true; }

bool has_steps() { return false; }

std::unique_ptr<ServerUnderTest> start_server() {
  return std::make_unique<MySqlUnderTest<MariaDbServer>>();
}

const DatabaseServer& shared_server() { return MariaDbServer::shared(); }

std::unique_ptr<Database> make_database_on_shared(int port) {
  return make_mysql_database(MariaDbServer::shared(), port);
}

}  // namespace semel::test
