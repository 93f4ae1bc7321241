// semel_test_server_keeper up|down SERVER FOLDER: starts and stops the server that the tests of one
// run of ctest share (cmake/SemelServers.cmake). FOLDER holds the file that says where it is.
//
// `up` leaves a monitor behind, which stops the server when `down` tells it to, and also when ctest
// is gone without having run `down`.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>

#include "tests/support/elasticmq_server.h"
#include "tests/support/kafka_server.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/nats_server.h"
#include "tests/support/postgres_server.h"
#include "tests/support/rabbitmq_server.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/redis_server.h"
#include "tests/support/server_address.h"
#include "tests/support/temp_dir.h"

namespace semel::test {
namespace {

constexpr int kKeeperStopPatience = 60'000;

// The server that runs until it is released.
struct Kept {
  std::shared_ptr<void> server;
  ServerAddress address;
};
using Make = std::function<Kept()>;

template <class Server>
Kept make_fast() {
  auto options = Server::fast();
  options.keep_pristine = true;
  const auto server = std::make_shared<Server>(options);
  return {server, server->address()};
}

Kept make_kafka() {
  const auto broker = std::make_shared<KafkaServer>();
  return {broker, broker->address()};
}

Kept make_elasticmq() {
  const auto broker = std::make_shared<ElasticmqServer>();
  return {broker, broker->address()};
}

Kept make_rabbitmq() {
  const auto broker = std::make_shared<RabbitmqServer>();
  return {broker, broker->address()};
}

Kept make_nats() {
  const auto server = std::make_shared<NatsServer>();
  return {server, server->address()};
}

Kept make_cluster() {
  const auto cluster = std::make_shared<RedisCluster>(RedisCluster::kCalmTimeoutMs);
  return {cluster, cluster->address()};
}

const std::map<std::string, Make>& makers() {
  static const std::map<std::string, Make> all = {{"kafka", make_kafka},
                                                  {"elasticmq", make_elasticmq},
                                                  {"rabbitmq", make_rabbitmq},
                                                  {"nats", make_nats},
                                                  {"postgres", make_fast<PostgresServer>},
                                                  {"mariadb", make_fast<MariaDbServer>},
                                                  {"mysql8", make_fast<MySqlServer>},
                                                  {"redis", make_fast<RedisServer>},
                                                  {"redis_cluster", make_cluster}};
  return all;
}

std::string log_of(const std::string& path) { return path + ".log"; }

int watch_of(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

// No thread is to take them: the monitor reads them.
int listen_to_signals() {
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&ends, number);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  return ::signalfd(-1, &ends, SFD_CLOEXEC);
}

// Closes all inherited descriptors except `kept`: neither ctest's pipes nor others' locks stay
// open.
void let_go(const std::string& log, int kept) {
  ::setsid();
  const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::syscall(SYS_close_range, STDERR_FILENO + 1, kept - 1, 0);
  ::syscall(SYS_close_range, kept + 1, ~0U, 0);
}

// Writes to `ready` when the server is up, and keeps it until told to stop, or until `ctest` has
// ended.
int stay(const Make& make, const std::string& path, pid_t ctest, int ready) {
  const int ctest_ends = watch_of(ctest);
  if (ctest_ends < 0) return 1;
  const int signals = listen_to_signals();
  const Kept kept = make();
  write_shared_server(path, kept.address, ::getpid());
  [[maybe_unused]] const auto told = ::write(ready, "1", 1);
  ::close(ready);
  std::array<pollfd, 2> watched = {pollfd{ctest_ends, POLLIN, 0}, pollfd{signals, POLLIN, 0}};
  while (::poll(watched.data(), watched.size(), -1) < 0 && errno == EINTR) {
  }
  std::filesystem::remove(path);
  std::filesystem::remove(log_of(path));
  return 0;
}

int up(const Make& make, const std::string& path, pid_t ctest) {
  const std::string log = log_of(path);
  std::array<int, 2> ready{};
  if (::pipe2(ready.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const pid_t monitor = ::fork();
  if (monitor < 0) throw std::runtime_error("no fork");
  if (monitor == 0) {
    ::close(ready[0]);
    let_go(log, ready[1]);
    return stay(make, path, ctest, ready[1]);
  }
  ::close(ready[1]);
  char answer = 0;
  while (::read(ready[0], &answer, 1) < 0 && errno == EINTR) {
  }
  if (answer != 0) return 0;
  fmt::print(stderr, "the server does not start:\n{}\n", read_file(log));
  return 1;
}

int down(const std::string& path) {
  const auto monitor = read_keeper(path);
  if (!monitor) return 0;  // it is not up
  const int watch = watch_of(*monitor);
  if (watch < 0) return 0;
  ::kill(*monitor, SIGTERM);
  pollfd end{watch, POLLIN, 0};
  const int ended = ::poll(&end, 1, kKeeperStopPatience);
  if (ended != 1) fmt::print(stderr, "process {} does not stop the server\n", *monitor);
  return ended == 1 ? 0 : 1;
}

int run(const std::vector<std::string>& arguments) {
  const bool complete = arguments.size() == 3;
  const auto make = complete ? makers().find(arguments[1]) : makers().end();
  if (make == makers().end() || (arguments[0] != "up" && arguments[0] != "down")) {
    fmt::print(stderr, "usage: semel_test_server_keeper up|down SERVER FOLDER\n");
    return 2;
  }
  const pid_t ctest = ::getppid();
  const std::string path = shared_server_file(arguments[2], arguments[1], ctest);
  if (arguments[0] == "down") return down(path);
  std::filesystem::create_directories(arguments[2]);
  return up(make->second, path, ctest);
}

}  // namespace
}  // namespace semel::test

int main(int count, char** arguments) {
  try {
    return semel::test::run({arguments + 1, arguments + count});
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
