// RedisCluster: a Redis Cluster for tests, each master with a replica.
//
//   const auto& shared = RedisCluster::shared();  // for all that break nothing
//
//   RedisCluster mine;  // to kill nodes of, and to move slots in
//   mine.node_at(mine.master_of("semel:{3f}x")).kill();
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/redis_server.h"

namespace semel::test {

// What fails throws std::runtime_error. Methods that are const may be called from any thread.
class RedisCluster {
 public:
  // Of one where nobody is to be replaced.
  static constexpr int kCalmTimeoutMs = 10'000;

  // For tests that leave it as it is.
  static const RedisCluster& shared();

  // How nodes are known to each other and to those who ask by TLS. PEM files; it signed itself.
  struct Tls {
    std::string certificate;
    std::string key;
  };

  // `node_timeout_ms`: a master that is silent for so long is replaced. `arguments`: of each node.
  explicit RedisCluster(int node_timeout_ms, const std::vector<std::string>& arguments = {},
                        const std::optional<Tls>& tls = std::nullopt);
  RedisCluster(const RedisCluster&) = delete;
  RedisCluster& operator=(const RedisCluster&) = delete;

  // Of all of its nodes that are known here.
  std::string url() const;
  // Of those that run, by TLS, where it was given; everything else here is asked plainly.
  std::string tls_url() const;
  const ServerAddress& address() const { return address_; }
  // A prefix of names that nobody has.
  std::string new_prefix() const;

  // The port of the master that a name belongs to; 0 while there is none.
  int master_of(const std::string& name) const;
  std::vector<int> masters() const;
  // One command, at the node that its second word, or what is given, belongs to.
  std::string run(const std::vector<std::string>& words) const;
  std::string run_for(const std::string& name, const std::vector<std::string>& words) const;
  static std::string run_at(int port, const std::vector<std::string>& words);
  static std::string setting_at(int port, const std::string& name);
  // At each master; the answers, one a line.
  std::string run_everywhere(const std::vector<std::string>& words) const;
  // A tag whose names belong to that master.
  std::string tag_at(int port) const;

  // Only of one that a test has started.
  RedisServer& node_at(int port);
  // The one that follows this master, where it follows closely.
  int replica_of(int master) const;
  // Returns when the replica of this master has all that was written to it.
  void wait_for_replica(int master) const;
  // Returns when there is a master for the name that is another than `before`, and the Cluster
  // takes writes everywhere.
  void wait_for_another_master(const std::string& name, int before) const;
  void wait_until_whole() const;
  // Begins to move the slot of a name; until it is ended names are at both.
  void begin_move(const std::string& name, int to) const;
  // Moves the names that are there, a few at a time.
  void move_names(const std::string& name, int to) const;
  void end_move(const std::string& name, int to) const;

 private:
  explicit RedisCluster(const ServerAddress& found) : address_(found) {}
  void join();
  bool is_whole() const;
  bool knows_our_ports(int node) const;

  std::vector<std::unique_ptr<RedisServer>> nodes_;
  ServerAddress address_;
};

}  // namespace semel::test
