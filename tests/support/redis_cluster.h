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

// Failures throw std::runtime_error. Const methods are thread-safe.
class RedisCluster {
 public:
  // For clusters without failovers.
  static constexpr int kCalmTimeoutMs = 10'000;

  // For tests that do not change the cluster.
  static const RedisCluster& shared();

  // How nodes identify themselves by TLS to each other and to clients. PEM files; the certificate
  // is self-signed.
  struct Tls {
    std::string certificate;
    std::string key;
  };

  // `node_timeout_ms`: a master that is silent for this long is replaced. `arguments`: for each
  // node.
  explicit RedisCluster(int node_timeout_ms, const std::vector<std::string>& arguments = {},
                        const std::optional<Tls>& tls = std::nullopt);
  RedisCluster(const RedisCluster&) = delete;
  RedisCluster& operator=(const RedisCluster&) = delete;

  // Names all nodes that this object knows.
  std::string url() const;
  // Names the running nodes, over TLS if it was given; everything else here uses plain connections.
  std::string tls_url() const;
  const ServerAddress& address() const { return address_; }
  // A new prefix of names.
  std::string new_prefix() const;

  // The port of the master that a name belongs to; 0 while there is none.
  int master_of(const std::string& name) const;
  std::vector<int> masters() const;
  // Runs one command, at the node that owns its second word or the given name.
  std::string run(const std::vector<std::string>& words) const;
  std::string run_for(const std::string& name, const std::vector<std::string>& words) const;
  static std::string run_at(int port, const std::vector<std::string>& words);
  static std::string setting_at(int port, const std::string& name);
  // At each master; the answers, one a line.
  std::string run_everywhere(const std::vector<std::string>& words) const;
  // A hash tag whose slot belongs to that master.
  std::string tag_at(int port) const;

  // Only of one that a test has started.
  RedisServer& node_at(int port);
  // The replica of this master, if it is in sync.
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
