#include "sources/redis_streams/place.h"

#include <utility>

namespace semel::redis_streams {

using redis::Connection;
using redis::Loss;

StreamPlace::StreamPlace(redis::Target target, std::string stream, Random& random)
    : target_(std::move(target)), stream_(std::move(stream)), random_(random) {}

// Whether it is a Cluster, according to the first node that answers.
bool StreamPlace::find_out() {
  const std::vector<redis::Target> all = each_of(target_);
  for (std::size_t i = 0;; ++i) {
    try {
      Connection connection(all[i]);
      const Bytes info = connection.ask({"INFO", "cluster"}, Loss::kNothingDone).bytes;
      return redis::info_field(info, "cluster_enabled") == "1";
    } catch (const core::Failure& failed) {
      if (failed.error().code != "R250" || i + 1 == all.size()) throw;
    }
  }
}

std::vector<std::unique_ptr<Connection>> StreamPlace::connect(std::size_t connections) {
  if (!cluster_) cluster_ = find_out();
  if (!*cluster_ && !target_.others.empty()) {
    core::fail({ErrorKind::kRejected, "R259",
                "the URL names several Redis servers, and they are no Cluster", "name the one"});
  }
  std::shared_ptr<redis::Node> node;
  if (*cluster_) {
    if (!router_)
      router_ = std::make_unique<redis::Router>(target_, 0, true, redis::Confirm{}, random_);
    (void)router_->masters();  // refreshes the map
    node = router_->owner(stream_);
  }
  std::vector<std::unique_ptr<Connection>> made;
  for (std::size_t i = 0; i < connections; ++i) {
    made.push_back(node ? router_->connect_to(*node) : std::make_unique<Connection>(target_));
  }
  return made;
}

}  // namespace semel::redis_streams
