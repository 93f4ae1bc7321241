#include "tests/support/redis_cluster.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <sstream>
#include <stdexcept>

#include "tests/support/waiting.h"

namespace semel::test {
namespace {

constexpr int kMasters = 3;
constexpr int kSlots = 16'384;
constexpr std::chrono::seconds kClusterPatience{60};

void wait_for(const std::string& what, const std::function<bool()>& done) {
  const auto answers_and_is = [&] {
    try {
      return done();
    } catch (const std::runtime_error&) {
      return false;  // Some node does not answer yet.
    }
  };
  if (comes_true(answers_and_is, kClusterPatience)) return;
  throw std::runtime_error("the Redis Cluster: " + what + " takes too long");
}

std::string field_of(const std::string& info, const std::string& name) {
  const auto at = info.find(name + ":");
  if (at == std::string::npos) return {};
  const auto from = at + name.size() + 1;
  return info.substr(from, info.find_first_of("\r\n", from) - from);
}

struct NodeLine {
  std::string id, flags, master;
  int port = 0;
  std::vector<std::pair<int, int>> slots;
};

// A node's view of all nodes.
std::vector<NodeLine> nodes_known_to(int port) {
  std::vector<NodeLine> nodes;
  std::istringstream text(RedisCluster::run_at(port, {"CLUSTER", "NODES"}));
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    NodeLine node;
    std::string address, skipped;
    words >> node.id >> address >> node.flags >> node.master;
    node.port = std::stoi(address.substr(address.rfind(':', address.find('@')) + 1));
    for (int i = 0; i < 4; ++i) words >> skipped;
    for (std::string range; words >> range;) {
      if (range.starts_with('[')) continue;
      const auto dash = range.find('-');
      const int first = std::stoi(range);
      node.slots.emplace_back(
          first, dash == std::string::npos ? first : std::stoi(range.substr(dash + 1)));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

bool is_master(const NodeLine& node) {
  return node.flags.find("master") != std::string::npos &&
         node.flags.find("fail") == std::string::npos;
}

// The port by which nodes identify each other.
std::string port_for_nodes(int port) {
  return RedisCluster::setting_at(port, "tls-cluster") == "yes"
             ? RedisCluster::setting_at(port, "tls-port")
             : std::to_string(port);
}

}  // namespace

const RedisCluster& RedisCluster::shared() {
  static const auto cluster = [] {
    const auto found = find_shared_server("redis_cluster");
    return std::unique_ptr<RedisCluster>(found ? new RedisCluster(*found)
                                               : new RedisCluster(kCalmTimeoutMs));
  }();
  return *cluster;
}

RedisCluster::RedisCluster(int node_timeout_ms, const std::vector<std::string>& arguments,
                           const std::optional<Tls>& tls) {
  for (int i = 0; i < 2 * kMasters; ++i) {
    RedisServer::Options options = RedisServer::fast();
    const std::vector<std::string> more = {
        "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
        // The usual one, the port and 10000, may be none.
        "--cluster-port", std::to_string(free_port()), "--cluster-node-timeout",
        std::to_string(node_timeout_ms), "--cluster-allow-replica-migration", "no",
        "--repl-diskless-sync-delay", "0"};
    options.arguments.insert(options.arguments.end(), more.begin(), more.end());
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    if (tls) {
      add_tls(options.arguments, {free_port(), tls->certificate, tls->key, tls->certificate});
      for (const char* word : {"--tls-cluster", "yes", "--tls-replication", "yes"}) {
        options.arguments.emplace_back(word);
      }
    }
    nodes_.push_back(std::make_unique<RedisServer>(std::move(options)));
  }
  join();
  address_ = nodes_.front()->address();
}

void RedisCluster::join() {
  for (int i = 0; i < 2 * kMasters; ++i) {
    const int port = nodes_[static_cast<std::size_t>(i)]->port();
    run_at(port, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    if (i >= kMasters) continue;
    run_at(port, {"CLUSTER", "ADDSLOTSRANGE", std::to_string(kSlots * i / kMasters),
                  std::to_string(kSlots * (i + 1) / kMasters - 1)});
  }
  const int first = nodes_.front()->port();
  for (const auto& node : nodes_) {
    if (node->port() == first) continue;
    run_at(first, {"CLUSTER", "MEET", "127.0.0.1", port_for_nodes(node->port()),
                   setting_at(node->port(), "cluster-port")});
  }
  const auto all_know = [&] {
    return std::ranges::all_of(nodes_, [&](const auto& node) {
      const auto known = nodes_known_to(node->port());
      return known.size() == nodes_.size() && std::ranges::none_of(known, [](const NodeLine& one) {
               return one.flags.find("handshake") != std::string::npos;
             });
    });
  };
  wait_for("meeting", all_know);
  for (std::size_t i = 0; i < kMasters; ++i) {
    const std::string id = nodes_[i]->run({"CLUSTER", "MYID"});
    nodes_[i + kMasters]->run({"CLUSTER", "REPLICATE", id});
  }
  wait_until_whole();
}

std::string RedisCluster::url() const {
  std::string url = fmt::format("redis://127.0.0.1:{}", address_.port);
  for (const auto& node : nodes_) {
    if (node->port() != address_.port) url += fmt::format(",127.0.0.1:{}", node->port());
  }
  return url;
}

std::string RedisCluster::tls_url() const {
  std::vector<std::string> places;
  for (const auto& node : nodes_) {
    if (node->running()) places.push_back("127.0.0.1:" + setting_at(node->port(), "tls-port"));
  }
  return fmt::format("rediss://{}", fmt::join(places, ","));
}

std::string RedisCluster::new_prefix() const {
  static std::atomic<int> count{0};
  return fmt::format("c{}-{}-{:x}:", ::getpid(), ++count, std::random_device()());
}

std::string RedisCluster::run_at(int port, const std::vector<std::string>& words) {
  return redis_command(port, words);
}

std::string RedisCluster::setting_at(int port, const std::string& name) {
  return run_at(port, {"CONFIG", "GET", name}).substr(name.size() + 1);
}

int RedisCluster::master_of(const std::string& name) const {
  // A node that is down does not say.
  const auto ask = [&](int port) {
    const int slot = std::stoi(run_at(port, {"CLUSTER", "KEYSLOT", name}));
    for (const NodeLine& node : nodes_known_to(port)) {
      if (!is_master(node)) continue;
      for (const auto& [first, last] : node.slots) {
        if (first <= slot && slot <= last) return node.port;
      }
    }
    return 0;
  };
  if (nodes_.empty()) return ask(address_.port);
  for (const auto& node : nodes_) {
    try {
      return ask(node->port());
    } catch (const std::runtime_error&) {
      continue;
    }
  }
  return 0;
}

std::vector<int> RedisCluster::masters() const {
  std::vector<int> ports;
  int asked = address_.port;
  for (const auto& node : nodes_) {
    if (node->running()) asked = node->port();
  }
  for (const NodeLine& node : nodes_known_to(asked)) {
    if (is_master(node) && !node.slots.empty()) ports.push_back(node.port);
  }
  return ports;
}

std::string RedisCluster::run(const std::vector<std::string>& words) const {
  return run_for(words.at(1), words);
}

std::string RedisCluster::run_for(const std::string& name,
                                  const std::vector<std::string>& words) const {
  return run_at(master_of(name), words);
}

std::string RedisCluster::run_everywhere(const std::vector<std::string>& words) const {
  std::string all;
  for (const int port : masters()) all += run_at(port, words) + "\n";
  return all;
}

std::string RedisCluster::tag_at(int port) const {
  constexpr int kTags = 10'000;
  for (int i = 0; i < kTags; ++i) {
    const std::string tag = fmt::format("t{}", i);
    if (master_of("{" + tag + "}") == port) return tag;
  }
  throw std::runtime_error(fmt::format("the node at port {} has no slot", port));
}

RedisServer& RedisCluster::node_at(int port) {
  for (const auto& node : nodes_) {
    if (node->port() == port) return *node;
  }
  throw std::runtime_error(fmt::format("no node of the Cluster is at port {}", port));
}

int RedisCluster::replica_of(int master) const {
  int replica = 0;
  // On a busy machine a replica is listed as failed for a moment.
  wait_for("a replica", [&] {
    const auto known = nodes_known_to(master);
    const auto own = std::ranges::find(known, master, &NodeLine::port);
    const auto found = std::ranges::find_if(known, [&](const NodeLine& node) {
      return node.master == own->id && node.flags.find("fail") == std::string::npos;
    });
    if (found != known.end()) replica = found->port;
    return replica != 0;
  });
  return replica;
}

// Nodes that know each other by TLS learn each other's plain ports a little later, with the first
// ping. Until then a node tells us the TLS port, which resets those who ask it plainly.
bool RedisCluster::knows_our_ports(int node) const {
  return std::ranges::all_of(nodes_known_to(node), [&](const NodeLine& line) {
    return line.flags.find("fail") != std::string::npos ||
           std::ranges::any_of(nodes_, [&](const auto& own) { return own->port() == line.port; });
  });
}

bool RedisCluster::is_whole() const {
  for (const auto& node : nodes_) {
    if (!node->running()) continue;
    if (field_of(node->run({"CLUSTER", "INFO"}), "cluster_state") != "ok") return false;
    if (!knows_our_ports(node->port())) return false;
    const std::string info = node->run({"INFO", "replication"});
    if (field_of(info, "role") == "slave" && field_of(info, "master_link_status") != "up") {
      return false;
    }
  }
  return masters().size() == kMasters;
}

void RedisCluster::wait_until_whole() const {
  wait_for("becoming whole", [this] { return is_whole(); });
}

void RedisCluster::wait_for_replica(int master) const {
  const int replica = replica_of(master);
  const std::string offset =
      field_of(run_at(master, {"INFO", "replication"}), "master_repl_offset");
  wait_for("replication", [&] {
    const std::string told = run_at(replica, {"INFO", "replication"});
    return std::stoll(field_of(told, "slave_repl_offset")) >= std::stoll(offset);
  });
}

void RedisCluster::wait_for_another_master(const std::string& name, int before) const {
  wait_for("a failover", [&] {
    const int now = master_of(name);
    return now != 0 && now != before;
  });
  wait_until_whole();
}

void RedisCluster::begin_move(const std::string& name, int to) const {
  const int from = master_of(name);
  const std::string slot = run_at(from, {"CLUSTER", "KEYSLOT", name});
  run_at(to, {"CLUSTER", "SETSLOT", slot, "IMPORTING", run_at(from, {"CLUSTER", "MYID"})});
  run_at(from, {"CLUSTER", "SETSLOT", slot, "MIGRATING", run_at(to, {"CLUSTER", "MYID"})});
}

void RedisCluster::move_names(const std::string& name, int to) const {
  const int from = master_of(name);
  const std::string slot = run_at(from, {"CLUSTER", "KEYSLOT", name});
  for (;;) {
    // Names may contain line ends, so they are fetched one by one.
    const std::string one = run_at(from, {"CLUSTER", "GETKEYSINSLOT", slot, "1"});
    if (one.empty()) return;
    run_at(from, {"MIGRATE", "127.0.0.1", port_for_nodes(to), one, "0", "5000"});
  }
}

void RedisCluster::end_move(const std::string& name, int to) const {
  const int from = master_of(name);
  const std::string slot = run_at(from, {"CLUSTER", "KEYSLOT", name});
  const std::string id = run_at(to, {"CLUSTER", "MYID"});
  run_at(to, {"CLUSTER", "SETSLOT", slot, "NODE", id});
  for (const int port : masters()) {
    if (port != to) run_at(port, {"CLUSTER", "SETSLOT", slot, "NODE", id});
  }
}

}  // namespace semel::test
