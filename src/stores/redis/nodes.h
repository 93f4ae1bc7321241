// Nodes: the servers that a store knows, and which of them has a slot.
//
// A single server is the one that the URL names. Of a Cluster the URL names some, and any of them
// tells the map of slots, which is asked for again when it was wrong.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/environment.h>

#include "stores/redis/pool.h"
#include "stores/redis/slot_map.h"
#include "stores/redis/url.h"
#include "stores/redis/wire.h"
#include "system/mutex.h"

namespace semel::redis {

// A server, or a master of a Cluster.
class Node {
 public:
  Node(Target its_target, std::size_t kept)
      : target(std::move(its_target)),
        pool([this] { return std::make_unique<Wire>(target); }, kept) {}

  const Target target;
  Pool pool;
};
using Masters = std::vector<std::shared_ptr<Node>>;

// Any thread.
class Nodes {
 public:
  // `kept`: idle connections to each. Connects to nobody.
  Nodes(const Target& target, std::size_t kept, Random& random);

  // In the URL; a single server is the one.
  const Masters& named() const noexcept { return named_; }

  // What follows is about a Cluster. Who throws core::Failure does so where none of the nodes says
  // who has which slots.
  Masters masters() SEMEL_EXCLUDES(mutex_);
  std::shared_ptr<Node> at(const NodePlace& place) SEMEL_EXCLUDES(mutex_);
  // By the map as it is; null where nobody has the slot.
  std::shared_ptr<Node> owner_of(std::uint16_t slot) SEMEL_EXCLUDES(mutex_);
  // Of what is about this name. Throws core::Failure where there is none.
  std::shared_ptr<Node> owner(std::string_view name);

  // The version of the map; 0: there is none yet.
  std::uint64_t version() SEMEL_EXCLUDES(mutex_);
  void need_map();
  // Asks for a map that is newer than version `seen`, if there is none by now.
  void refresh(std::uint64_t seen) SEMEL_EXCLUDES(refreshing_, mutex_);
  // The same; where none tells, the map stays.
  void try_to_refresh(std::uint64_t seen);
  // Before a newer map is there.
  void moved(std::uint16_t slot, const NodePlace& to) SEMEL_EXCLUDES(mutex_);

 private:
  Masters to_be_asked() SEMEL_EXCLUDES(mutex_);

  const Target target_;
  const std::size_t kept_;
  Random& random_;
  const Masters named_;

  system::Mutex refreshing_;
  system::Mutex mutex_;
  SlotMap map_ SEMEL_GUARDED_BY(mutex_);
  std::uint64_t version_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::map<NodePlace, std::shared_ptr<Node>> nodes_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::redis
