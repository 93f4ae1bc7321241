// StreamPlace: the server that has a stream; in a Cluster, the node that owns its slot.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <semel/environment.h>

#include "clients/redis/connection.h"
#include "clients/redis/router.h"
#include "clients/redis/url.h"

namespace semel::redis_streams {

// Not thread-safe.
class StreamPlace {
 public:
  StreamPlace(redis::Target target, std::string stream, Random& random);

  // Finds the server again, and opens this many connections to it. Throws core::Failure.
  std::vector<std::unique_ptr<redis::Connection>> connect(std::size_t connections);
  // After this long without a byte of an answer a server counts as lost.
  std::chrono::milliseconds answer_timeout() const noexcept { return target_.answer_timeout; }

 private:
  bool find_out();

  const redis::Target target_;
  const std::string stream_;
  Random& random_;
  std::optional<bool> cluster_;
  std::unique_ptr<redis::Router> router_;  // of a Cluster
};

}  // namespace semel::redis_streams
