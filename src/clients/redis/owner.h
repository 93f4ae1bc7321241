// Owner: connects to the server that holds a name; in a Cluster, to the node that owns its slot.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <semel/environment.h>

#include "clients/redis/connection.h"
#include "clients/redis/router.h"
#include "clients/redis/url.h"

namespace semel::redis {

// Not thread-safe.
class Owner {
 public:
  // `random` must outlive it. Does not connect.
  Owner(Target target, std::string name, Random& random);

  // Finds the server again. Throws core::Failure.
  std::unique_ptr<Connection> connect();

 private:
  bool in_cluster() const;

  const Target target_;
  const std::string name_;
  Random& random_;
  std::unique_ptr<Router> router_;  // null until a server has answered
};

}  // namespace semel::redis
