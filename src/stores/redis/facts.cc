#include "stores/redis/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace semel::redis {
namespace {

Facts facts_of(const Bytes& info, const std::string& server, bool accept_eviction) {
  Facts facts;
  facts.keeps_log = info_field(info, "aof_enabled") == "1";
  const std::string most = info_field(info, "maxmemory");
  const std::string policy = info_field(info, "maxmemory_policy");
  facts.evicts = !most.empty() && most != "0" && policy != "noeviction";
  facts.evicts_all = facts.evicts && !policy.starts_with("volatile-");
  if (facts.evicts && !accept_eviction) {
    core::fail({ErrorKind::kRejected, "R265",
                fmt::format("{} evicts what it has no room for (maxmemory {}, maxmemory-policy "
                            "{}): a claim or a completed key would be forgotten",
                            server, most, policy),
                "CONFIG SET maxmemory-policy noeviction"});
  }
  return facts;
}

std::size_t largest_value(Connection& connection) {
  connection.send({"CONFIG", "GET", "proto-max-bulk-len"});
  const std::vector<Reply> replies = connection.run(Loss::kNothingDone);
  std::size_t largest = Facts{}.largest;
  const Reply& told = replies.front();
  if (told.list.size() < 2) return largest;
  const Bytes& text = told.list[1].bytes;
  std::from_chars(text.data(), text.data() + text.size(), largest);
  return largest;
}

Facts look_at_masters(const StoreContext::Settings& place, bool accept_eviction, Random& random) {
  if (!place.target.socket.empty()) {
    core::fail({ErrorKind::kRejected, "R264",
                "the Redis server is a node of a Cluster, whose other nodes no socket leads to",
                "name a host and a port in store.redis.url"});
  }
  Router router(place.target, 1, true, {}, random);
  Facts all{.keeps_log = true, .evicts_all = false, .evicts = false};
  for (const auto& master : router.masters()) {
    PooledConnection connection(master->pool);
    const Facts facts = facts_of(connection->ask({"INFO"}, Loss::kNothingDone).bytes,
                                 fmt::format("the Redis server {}", endpoint_text(master->target)),
                                 accept_eviction);
    all.largest = std::min(all.largest, largest_value(*connection));
    all.keeps_log = all.keeps_log && facts.keeps_log;
    all.evicts = all.evicts || facts.evicts;
    all.evicts_all = all.evicts_all || facts.evicts_all;
  }
  return all;
}

// The answer of the first server that answers.
Bytes info_of_any(const Target& target, std::size_t& largest) {
  const std::vector<Target> all = each_of(target);
  for (std::size_t i = 0;; ++i) {
    try {
      Connection connection(all[i]);
      Bytes info = connection.ask({"INFO"}, Loss::kNothingDone).bytes;
      largest = largest_value(connection);
      return info;
    } catch (const core::Failure& failed) {
      if (failed.error().code != "R250" || i + 1 == all.size()) throw;
    }
  }
}

}  // namespace

Facts look_at(StoreContext::Settings& place, bool accept_eviction, Random& random) {
  std::size_t largest = 0;
  const Bytes info = info_of_any(place.target, largest);
  place.cluster = info_field(info, "cluster_enabled") == "1";
  if (place.cluster) return look_at_masters(place, accept_eviction, random);
  if (!place.target.others.empty()) {
    core::fail({ErrorKind::kRejected, "R259",
                "the URL names several Redis servers, and they are no Cluster", "name the one"});
  }
  if (info_field(info, "role") == "slave") {
    core::fail({ErrorKind::kUnavailable, "R203", "the Redis server is a replica",
                "name the master in store.redis.url"});
  }
  Facts facts = facts_of(info, "the Redis server", accept_eviction);
  facts.largest = largest;
  return facts;
}

}  // namespace semel::redis
