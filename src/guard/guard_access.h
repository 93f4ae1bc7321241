// GuardAccess: a Guard whose leases are not renewed, for callers that control time.
#pragma once

#include <memory>

#include <semel/guard.h>

namespace semel {

struct GuardAccess {
  // Starts no thread: everything happens within the calls.
  static std::unique_ptr<Guard> without_renewal(Store& store, GuardOptions options);
};

}  // namespace semel
