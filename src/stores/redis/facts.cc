#include "stores/redis/facts.h"

#include <fmt/format.h>

namespace semel::redis {

Facts look_at(Wire& wire, bool accept_eviction) {
  const Bytes info = wire.ask({"INFO"}, Loss::kNothingDone).bytes;
  if (info_field(info, "cluster_enabled") == "1") {
    core::fail({ErrorKind::kRejected, "R264", "the Redis server is a node of a Cluster",
                "name a server that is none in store.redis.url"});
  }
  if (info_field(info, "role") == "slave") {
    core::fail({ErrorKind::kUnavailable, "R203", "the Redis server is a replica",
                "name the master in store.redis.url"});
  }
  Facts facts;
  facts.keeps_log = info_field(info, "aof_enabled") == "1";
  const std::string most = info_field(info, "maxmemory");
  const std::string policy = info_field(info, "maxmemory_policy");
  facts.evicts = !most.empty() && most != "0" && policy != "noeviction";
  facts.evicts_all = facts.evicts && !policy.starts_with("volatile-");
  if (facts.evicts && !accept_eviction) {
    core::fail({ErrorKind::kRejected, "R265",
                fmt::format("the Redis server evicts what it has no room for (maxmemory {}, "
                            "maxmemory-policy {}): a claim or a completed key would be forgotten",
                            most, policy),
                "CONFIG SET maxmemory-policy noeviction"});
  }
  return facts;
}

}  // namespace semel::redis
