#include "clients/redis/nodes.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "core/failure.h"

namespace semel::redis {
namespace {

// After a failed try, the next call does not immediately wait for the same nodes again.
constexpr std::chrono::milliseconds kBetweenTries{1'000};

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
    if (failed_ && Clock::now() - failed_->at < kBetweenTries) {
      if (seen != 0) return;
      throw core::Failure(failed_->failure);
    }
  }
  // If no node returns a map, the next round reports the cause.
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
  // Starts with another node each time: an isolated node returns an old map.
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
  std::uint64_t ended = 0;
  {
    const system::MutexLock lock(mutex_);
    ended = tries_;
  }
  const system::MutexLock one_at_a_time(refreshing_);
  {
    const system::MutexLock lock(mutex_);
    if (version_ > seen) return;  // another thread was faster
    if (tries_ > ended && failed_) throw core::Failure(failed_->failure);
  }
  try {
    if (!fetch()) {
      core::fail({ErrorKind::kUnavailable, "R250", "no node of the Redis Cluster has any slot",
                  "redis-cli --cluster check tells what is missing"},
                 1);
    }
  } catch (const core::Failure& failure) {
    const system::MutexLock lock(mutex_);
    ++tries_;
    failed_ = Failed{failure, Clock::now()};
    throw;
  }
}

bool Nodes::fetch() {
  const auto until = Clock::now() + target_.connect_timeout;
  const Masters asked = to_be_asked();
  std::optional<core::Failure> failed;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    // A part of the time stays for the others: one that is lost must not hide those that are not.
    const std::size_t parts = asked.size() - i;
    try {
      SlotMap map = ask_for_map(*asked[i], part_of(Clock::now(), until, parts));
      if (map.masters().empty()) continue;
      use(std::move(map));
      return true;
    } catch (const core::Failure& this_one) {
      failed = this_one;
    }
  }
  if (failed) throw core::Failure(*failed);
  return false;
}

SlotMap Nodes::ask_for_map(Node& node, Clock::time_point until) {
  Target soon = node.target;
  PooledConnection connection(node.pool, [&] {
    soon.connect_timeout = std::chrono::ceil<std::chrono::milliseconds>(
        std::max(until - Clock::now(), Clock::duration::zero()));
    return std::make_unique<Connection>(soon);
  });
  return SlotMap::read(connection->ask({"CLUSTER", "SLOTS"}, Loss::kNothingDone, until),
                       node.target.host);
}

void Nodes::use(SlotMap map) {
  for (const Endpoint& endpoint : map.masters()) at(endpoint);
  const system::MutexLock lock(mutex_);
  map_ = std::move(map);
  ++version_;
  ++tries_;
  failed_.reset();
  // Forget nodes that are masters no more: one may come back as another server.
  std::erase_if(nodes_, [&](const auto& one) SEMEL_REQUIRES(mutex_) {
    return std::ranges::find(map_.masters(), one.first) == map_.masters().end();
  });
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
