// A test bed's database on a server of MySQL's family.
#pragma once

#include <memory>

#include "tests/chaos/server_under_test.h"
#include "tests/support/mysql_servers.h"

namespace semel::test {

// See ServerUnderTest::make_database.
std::unique_ptr<Database> make_mysql_database(const MySqlFamilyServer& server, int port);

template <class Server>
class MySqlUnderTest final : public ServerUnderTest {
 public:
  DatabaseServer& server() override { return server_; }
  std::unique_ptr<Database> make_database(int port) const override {
    return make_mysql_database(server_, port);
  }

 private:
  Server server_;
};

}  // namespace semel::test
