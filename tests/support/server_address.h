// Where servers of the tests are, or may be.
#pragma once

#include <netinet/in.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "system/descriptor.h"

namespace semel::test {

// Where a running server is.
struct ServerAddress {
  int port = 0;          // of 127.0.0.1
  std::string socket;    // a file; of PostgreSQL the folder
  std::string log;       // a file
  std::string pristine;  // a folder: data of a server that was never started; may be empty
  pid_t pid = 0;
};

// A server that a run of ctest shares is told by a file: its name is made of the server's and of
// ctest's process, so that two runs in one build do not meet.
std::string shared_server_file(std::string_view folder, std::string_view name, pid_t ctest);
// `keeper`: the process that stops the server (test_servers_main.cc).
void write_shared_server(const std::string& path, const ServerAddress& address, pid_t keeper);
// None where there is no such file.
std::optional<ServerAddress> read_shared_server(const std::string& path);
std::optional<pid_t> read_keeper(const std::string& path);
// The one of the run of ctest that this process is a test of.
std::optional<ServerAddress> find_shared_server(std::string_view name);

// 127.0.0.1, this port.
sockaddr_in loopback(int port);

// Takes connections at this port of 127.0.0.1; not valid where somebody has it. `flags`: of
// socket(), beside SOCK_CLOEXEC.
system::Descriptor listener_at(int port, int flags = 0);

// Takes so many connections at this port, where nobody else listens, and hangs up on each: returns
// when that many clients have tried to reach a server that is away. False where too few came.
bool turn_away(int port, int clients);

// A port that nobody listens on, and that no other test is given while this process lives. None of
// those that the system gives to clients: one that tries to reach a killed server would at times be
// given its port, and meet itself.
int free_port();

// A listener at a port as free_port() gives them.
struct OwnListener {
  system::Descriptor fd;
  int port = 0;
};
// `flags`: as listener_at() takes them.
OwnListener own_listener(int flags = 0);

// As whom a server is run that refuses to be run as root.
struct PlainUser {
  std::optional<uid_t> user;  // none where the test is not root itself
  std::optional<gid_t> group;
};
// `preferred` where there is one of that name, else nobody.
PlainUser plain_user(const std::string& preferred);

}  // namespace semel::test
