#include "tests/support/server_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/support/temp_dir.h"

namespace semel::test {
namespace {

constexpr int kFirstPort = 10'000;
constexpr int kBlock = 50;
constexpr int kTries = 1'000;
constexpr int kBacklog = 1'024;
constexpr int kClientPatienceMs = 60'000;

// The first port that the system may give to a client.
int first_clients_port() {
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  int first = 0;
  return file >> first && first > kFirstPort + kTries ? first : 32'768;
}

// Blocks of ports that are exclusive to one process of these tests: the process that listens at the
// first port of a block owns the rest. Each port is given out once.
class OwnPorts {
 public:
  int next() {
    const std::scoped_lock lock(mutex_);
    for (int i = 0; i < kTries; ++i) {
      if (next_ == end_ || process_ != ::getpid()) take_block();
      // Other programs know nothing of blocks.
      if (const int port = next_++; listener_at(port).valid()) return port;
    }
    throw std::runtime_error("no port of 127.0.0.1 is free");
  }

 private:
  void take_block() {
    const int blocks = (first_clients_port() - kFirstPort) / kBlock;
    std::uniform_int_distribution<int> any(0, blocks - 1);
    for (int i = 0; i < kTries; ++i) {
      const int first = kFirstPort + any(chance_) * kBlock;
      if (auto listener = listener_at(first); listener.valid()) {
        listeners_.push_back(std::move(listener));
        process_ = ::getpid();
        next_ = first + 1;
        end_ = first + kBlock;
        return;
      }
    }
    throw std::runtime_error("no block of ports of 127.0.0.1 is free");
  }

  std::mutex mutex_;
  std::random_device chance_;
  pid_t process_ = 0;  // one that was forked has a block of its own
  std::vector<system::Descriptor> listeners_;
  int next_ = 0;
  int end_ = 0;
};

// Lines of the form name=value.
std::map<std::string, std::string> read_values(const std::string& path) {
  std::ifstream file(path);
  std::map<std::string, std::string> values;
  for (std::string line; std::getline(file, line);) {
    if (const auto at = line.find('='); at != std::string::npos) {
      values[line.substr(0, at)] = line.substr(at + 1);
    }
  }
  return values;
}

}  // namespace

std::string shared_server_file(std::string_view folder, std::string_view name, pid_t ctest) {
  return fmt::format("{}/{}.{}", folder, name, ctest);
}

void write_shared_server(const std::string& path, const ServerAddress& address, pid_t monitor) {
  const std::string written = path + ".new";
  write_file(written, fmt::format("port={}\nsocket={}\nlog={}\npristine={}\npid={}\n"
                                  "keeper={}\n",
                                  address.port, address.socket, address.log, address.pristine,
                                  address.pid, monitor));
  std::filesystem::rename(written, path);
}

std::optional<ServerAddress> read_shared_server(const std::string& path) {
  auto values = read_values(path);
  if (values.empty()) return std::nullopt;
  return ServerAddress{.port = std::stoi(values["port"]),
                       .socket = values["socket"],
                       .log = values["log"],
                       .pristine = values["pristine"],
                       .pid = std::stoi(values["pid"])};
}

std::optional<pid_t> read_keeper(const std::string& path) {
  const auto values = read_values(path);
  const auto found = values.find("keeper");
  if (found == values.end()) return std::nullopt;
  return std::stoi(found->second);
}

std::optional<ServerAddress> find_shared_server(std::string_view name) {
  const char* folder = std::getenv("SEMEL_TEST_SERVERS");
  if (folder == nullptr) return std::nullopt;
  return read_shared_server(shared_server_file(folder, name, ::getppid()));
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

system::Descriptor listener_at(int port, int flags) {
  system::Descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto address = loopback(port);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    fd.close();
  }
  return fd;
}

bool turn_away(int port, int clients) {
  const auto listener = listener_at(port);
  for (int i = 0; i < clients; ++i) {
    pollfd comes{listener.get(), POLLIN, 0};
    if (!listener.valid() || ::poll(&comes, 1, kClientPatienceMs) != 1) return false;
    const system::Descriptor client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  return true;
}

int free_port() {
  static OwnPorts ports;
  return ports.next();
}

OwnListener own_listener(int flags) {
  for (int i = 0; i < kTries; ++i) {
    const int port = free_port();
    // Another program may take it first.
    if (auto fd = listener_at(port, flags); fd.valid()) return {std::move(fd), port};
  }
  throw std::runtime_error("nobody can listen on 127.0.0.1");
}

PlainUser plain_user(const std::string& preferred) {
  if (::geteuid() != 0) return {};
  const passwd* entry = ::getpwnam(preferred.c_str());
  if (entry == nullptr) entry = ::getpwnam("nobody");
  if (entry == nullptr) throw std::runtime_error("neither " + preferred + " nor nobody is a user");
  return {.user = entry->pw_uid, .group = entry->pw_gid};
}

}  // namespace semel::test
