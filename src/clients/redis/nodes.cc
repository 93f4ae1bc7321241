#include "clients/redis/nodes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/failure.h"

namespace semel::redis {
namespace {

Masters nodes_of(const Target& target, std::size_t kept) {
  Masters nodes;
  for (Target& one : each_of(target)) nodes.push_back(std::make_shared<Node>(one, kept));
  return nodes;
}

}  // namespace

void put_lost_last(Masters& nodes) {
  std::stable_partition(nodes.begin(), nodes.end(),
                        [](const auto& node) { return !node->pool.lost(); });
}

Nodes::Nodes(const Target& target, std::size_t kept, Random& random)
    : target_(target), kept_(kept), random_(random), named_(nodes_of(target, kept)) {}

void Nodes::try_to_refresh(std::uint64_t seen) {
  try {
    refresh(seen);
  } catch (const core::Failure& failed) {
    if (failed.error().kind != ErrorKind::kUnavailable) throw;
  }
}

std::shared_ptr<Node> Nodes::at(const Endpoint& endpoint) {
  const system::MutexLock lock(mutex_);
  std::shared_ptr<Node>& node = nodes_[endpoint];
  if (!node) node = std::make_shared<Node>(target_at(endpoint), kept_);
  return node;
}

Target Nodes::target_at(const Endpoint& endpoint) const {
  Target target = target_;
  target.socket.clear();
  target.others.clear();
  target.host = endpoint.host;
  target.port = endpoint.port;
  return target;
}

std::vector<Target> Nodes::replicas() {
  std::vector<Target> all;
  const system::MutexLock lock(mutex_);
  for (const Endpoint& endpoint : map_.replicas()) all.push_back(target_at(endpoint));
  return all;
}

std::shared_ptr<Node> Nodes::owner_of(std::uint16_t slot) {
  Endpoint endpoint;
  {
    const system::MutexLock lock(mutex_);
    const Endpoint* owner = map_.owner(slot);
    if (owner == nullptr) return nullptr;
    endpoint = *owner;
  }
  return at(endpoint);
}

std::uint64_t Nodes::version() {
  const system::MutexLock lock(mutex_);
  return version_;
}

void Nodes::need_map() {
  std::uint64_t seen = 0;
  {
    const system::MutexLock lock(mutex_);
    if (version_ > stale_) return;
    seen = version_;
  }
  // If no node tells, the round that follows reports what is wrong.
  seen == 0 ? refresh(0) : try_to_refresh(seen);
}

void Nodes::mark_stale(std::uint64_t seen) {
  const system::MutexLock lock(mutex_);
  stale_ = std::max(stale_, seen);
}

void Nodes::moved(std::uint16_t slot, const Endpoint& to) {
  const system::MutexLock lock(mutex_);
  map_.moved(slot, to);
}

Masters Nodes::to_be_asked() {
  Masters asked;
  const system::MutexLock lock(mutex_);
  for (const auto& [endpoint, node] : nodes_) asked.push_back(node);
  // Start with another node each time: one that is cut off from the others tells an old map.
  if (!asked.empty()) {
    const auto first = static_cast<std::ptrdiff_t>(random_.next() % asked.size());
    std::rotate(asked.begin(), asked.begin() + first, asked.end());
  }
  for (const auto& node : named_) {
    if (!nodes_.contains({node->target.host, node->target.port})) asked.push_back(node);
  }
  put_lost_last(asked);
  return asked;
}

void Nodes::refresh(std::uint64_t seen) {
  const system::MutexLock one_at_a_time(refreshing_);
  if (version() > seen) return;  // another thread was faster
  std::optional<core::Failure> failed;
  for (const auto& node : to_be_asked()) {
    try {
      SlotMap map = [&] {
        PooledConnection connection(node->pool);
        return SlotMap::read(connection->ask({"CLUSTER", "SLOTS"}, Loss::kNothingDone),
                             node->target.host);
      }();
      if (map.masters().empty()) continue;
      for (const Endpoint& endpoint : map.masters()) at(endpoint);
      const system::MutexLock lock(mutex_);
      map_ = std::move(map);
      ++version_;
      // Forget nodes that are masters no more: one may come back as another server.
      std::erase_if(nodes_, [&](const auto& one) SEMEL_REQUIRES(mutex_) {
        return std::ranges::find(map_.masters(), one.first) == map_.masters().end();
      });
      return;
    } catch (const core::Failure& this_one) {
      failed = this_one;
    }
  }
  if (failed) throw core::Failure(*failed);
  core::fail({ErrorKind::kUnavailable, "R250", "no node of the Redis Cluster has any slot",
              "redis-cli --cluster check tells what is missing"},
             1);
}

Masters Nodes::masters() {
  refresh(version());
  Masters all;
  std::vector<Endpoint> endpoints;
  {
    const system::MutexLock lock(mutex_);
    endpoints = map_.masters();
  }
  for (const Endpoint& endpoint : endpoints) all.push_back(at(endpoint));
  return all;
}

std::shared_ptr<Node> Nodes::owner(std::string_view name) {
  need_map();
  if (auto node = owner_of(cluster_slot(name))) return node;
  core::fail({ErrorKind::kUnavailable, "R250", "no node of the Redis Cluster has a slot",
              "redis-cli --cluster check tells what is missing"},
             1);
}

}  // namespace semel::redis
