#include "clients/redis/owner.h"

#include <utility>

namespace semel::redis {

Owner::Owner(Target target, std::string name, Random& random)
    : target_(std::move(target)), name_(std::move(name)), random_(random) {}

// The first node that answers decides for all of them.
bool Owner::in_cluster() const {
  const std::vector<Target> nodes = each_of(target_);
  for (std::size_t i = 0;; ++i) {
    try {
      const Bytes info = Connection(nodes[i]).ask({"INFO", "cluster"}, Loss::kNothingDone).bytes;
      return info_field(info, "cluster_enabled") == "1";
    } catch (const core::Failure& failed) {
      const bool away = failed.error().kind == ErrorKind::kUnavailable;
      if (!away || i + 1 == nodes.size()) throw;
    }
  }
}

std::unique_ptr<Connection> Owner::connect() {
  if (!router_) {
    const bool cluster = in_cluster();
    if (!cluster && !target_.others.empty()) {
      core::fail({ErrorKind::kRejected, "R259",
                  "the URL names several Redis servers, and they are no Cluster", "name the one"});
    }
    router_ = std::make_unique<Router>(target_, 0, cluster, Confirm{}, random_);
  }
  // In a Cluster this fetches the current map.
  (void)router_->masters();
  return router_->connect_to(*router_->owner(name_));
}

}  // namespace semel::redis
