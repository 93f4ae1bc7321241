#include "admin/rate_limit.h"

#include <algorithm>

namespace semel::admin {

bool RateLimit::allows(const std::string& caller, Time now) {
  const auto [found, fresh] = buckets_.try_emplace(caller, Bucket{burst_, now});
  Bucket& bucket = found->second;
  const std::chrono::duration<double> passed = now - bucket.at;
  bucket.left = std::min(burst_, bucket.left + passed.count() * per_second_);
  bucket.at = now;
  if (bucket.left < 1) return false;
  bucket.left -= 1;
  return true;
}

}  // namespace semel::admin
