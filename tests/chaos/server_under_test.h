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

// As durable as it can be; this test's own.
std::unique_ptr<ServerUnderTest> start_server();
// For tests that leave it as it is.
const DatabaseServer& shared_server();
std::unique_ptr<Database> make_database_on_shared(int port = 0);

// What a client says when it commits, in one of these ways: each is in nothing else that it says.
// Some are said at the first commit of a connection only.
const std::vector<std::string>& commit_words();
// What the server's answer to it holds; empty: any byte is one.
std::string commit_answer();

}  // namespace semel::test
