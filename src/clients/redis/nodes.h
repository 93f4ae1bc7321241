// Nodes: the known servers, and which of them owns a slot.
//
// A single server is the one named by the URL. For a Cluster the URL names some nodes; any of them
// can return the map of slots, which is fetched again when it proves wrong.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/environment.h>

#include "clients/redis/connection.h"
#include "clients/redis/pool.h"
#include "clients/redis/slot_map.h"
#include "clients/redis/url.h"
#include "system/mutex.h"

namespace semel::redis {

// A server, or a master of a Cluster.
class Node {
 public:
  Node(Target its_target, std::size_t kept)
      : target(std::move(its_target)),
        pool([this] { return std::make_unique<Connection>(target); }, kept) {}

  const Target target;
  Pool pool;
};
using Masters = std::vector<std::shared_ptr<Node>>;

// Moves recently lost nodes to the end: everyone who needs the map would wait for each of them in
// vain.
void put_lost_last(Masters& nodes);

// Thread-safe.
class Nodes {
 public:
  // `kept`: the number of idle connections to each node that stay open. Does not connect.
  Nodes(const Target& target, std::size_t kept, Random& random);

  // The nodes that the URL names; a single server is the only one.
  const Masters& named() const noexcept { return named_; }

  // All members below are for a Cluster. masters(), owner(), need_map() and refresh() throw
  // core::Failure if no node returns the map of slots.
  Masters masters() SEMEL_EXCLUDES(mutex_);
  // The targets of the replicas that the current map names.
  std::vector<Target> replicas() SEMEL_EXCLUDES(mutex_);
  std::shared_ptr<Node> at(const Endpoint& endpoint) SEMEL_EXCLUDES(mutex_);
  // By the current map; null if no node owns the slot.
  std::shared_ptr<Node> owner_of(std::uint16_t slot) SEMEL_EXCLUDES(mutex_);
  // The owner of the name's slot. Throws core::Failure also if there is none.
  std::shared_ptr<Node> owner(std::string_view name);

  // The version of the map; 0 if there is none yet.
  std::uint64_t version() SEMEL_EXCLUDES(mutex_);
  // Fetches a map if there is none, or a newer one after mark_stale() for this one. Does not try
  // again soon after a failed try.
  void need_map() SEMEL_EXCLUDES(refreshing_, mutex_);
  // Version `seen` led to a node that does not answer: the next need_map() fetches a newer map.
  // Does not wait.
  void mark_stale(std::uint64_t seen) SEMEL_EXCLUDES(mutex_);
  // Fetches a map newer than version `seen`, unless another thread has done so. The limit for all
  // nodes together is that of one connection to a node; a concurrent try of another thread counts
  // for this one too.
  void refresh(std::uint64_t seen) SEMEL_EXCLUDES(refreshing_, mutex_);
  // The same, but keeps the old map if no node returns one.
  void try_to_refresh(std::uint64_t seen);
  // Corrects one slot until a newer map is fetched.
  void moved(std::uint16_t slot, const Endpoint& to) SEMEL_EXCLUDES(mutex_);

 private:
  using Clock = Socket::Clock;
  // The last failed try, if none has succeeded since.
  struct Failed {
    core::Failure failure;
    Clock::time_point at;
  };

  Masters to_be_asked() SEMEL_EXCLUDES(mutex_);
  // False if no node has any slot.
  bool fetch() SEMEL_EXCLUDES(mutex_);
  SlotMap ask_for_map(Node& node, Clock::time_point until);
  void use(SlotMap map) SEMEL_EXCLUDES(mutex_);
  Target target_at(const Endpoint& endpoint) const;

  const Target target_;
  const std::size_t kept_;
  Random& random_;
  const Masters named_;

  system::Mutex refreshing_;
  system::Mutex mutex_;
  SlotMap map_ SEMEL_GUARDED_BY(mutex_);
  std::uint64_t version_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::uint64_t stale_ SEMEL_GUARDED_BY(mutex_) = 0;  // this version and all earlier ones
  std::uint64_t tries_ SEMEL_GUARDED_BY(mutex_) = 0;  // tries that have ended
  std::optional<Failed> failed_ SEMEL_GUARDED_BY(mutex_);
  std::map<Endpoint, std::shared_ptr<Node>> nodes_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::redis
