// Addresses of the tests' servers, and free ports for them.
#pragma once

#include <netinet/in.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "system/descriptor.h"

namespace semel::test {

// The address of a running server.
struct ServerAddress {
  int port = 0;          // of 127.0.0.1
  std::string socket;    // a file; of PostgreSQL the folder
  std::string log;       // a file
  std::string pristine;  // a folder: data of a server that was never started; may be empty
  pid_t pid = 0;
};

// A file announces a server that a run of ctest shares. Its name contains the server's name and
// ctest's process id, so that two runs in one build do not interfere.
std::string shared_server_file(std::string_view folder, std::string_view name, pid_t ctest);
// `monitor`: the process that stops the server (test_servers_main.cc).
void write_shared_server(const std::string& path, const ServerAddress& address, pid_t monitor);
// None where there is no such file.
std::optional<ServerAddress> read_shared_server(const std::string& path);
std::optional<pid_t> read_keeper(const std::string& path);
// The shared server of the ctest run to which this process belongs.
std::optional<ServerAddress> find_shared_server(std::string_view name);

// 127.0.0.1, this port.
sockaddr_in loopback(int port);

// Listens at this port of 127.0.0.1; invalid if the port is in use. `flags`: for socket(), in
// addition to SOCK_CLOEXEC.
system::Descriptor listener_at(int port, int flags = 0);

// Accepts `clients` connections at this unused port and closes each: returns when that many clients
// have tried to reach an absent server. False if too few came.
bool turn_away(int port, int clients);

// A port that is free and that no other test receives while this process lives. It is outside the
// range that the system assigns to clients: otherwise a client that tries to reach a killed server
// could be assigned its port, and connect to itself.
int free_port();

// A listener at a port as free_port() gives them.
struct OwnListener {
  system::Descriptor fd;
  int port = 0;
};
// `flags`: as listener_at() takes them.
OwnListener own_listener(int flags = 0);

// The user that runs a server which refuses to run as root.
struct PlainUser {
  std::optional<uid_t> user;  // none where the test is not root itself
  std::optional<gid_t> group;
};
// `preferred` if that user exists, otherwise nobody.
PlainUser plain_user(const std::string& preferred);

}  // namespace semel::test
