// ServerUnderTest: a database server that is killed and cut off. Which kind it is, is linked
// (CMakeLists.txt).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/chaos/database.h"
#include "tests/support/database_server.h"

namespace semel::test {

class ServerUnderTest {
 public:
  virtual ~ServerUnderTest() = default;

  virtual DatabaseServer& server() = 0;
  // `port`: where the workers find the server, which may be a proxy's; zero: the server's own. The
  // server outlives it.
  virtual std::unique_ptr<Database> make_database(int port = 0) const = 0;
};

// As durable as it can be; used by this test only.
std::unique_ptr<ServerUnderTest> start_server();
// For tests that do not change the server.
const DatabaseServer& shared_server();
std::unique_ptr<Database> make_database_on_shared(int port = 0);

// The texts that a client sends at a commit: it sends one of them, and none at any other time. Some
// are sent only at the first commit of a connection.
const std::vector<std::string>& commit_words();
// A text in the server's answer to it; empty: any byte counts.
std::string commit_answer();

}  // namespace semel::test
