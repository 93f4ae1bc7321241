// GuardAccess: a Guard whose leases nobody renews, for who has time itself in hand.
#pragma once

#include <memory>

#include <semel/guard.h>

namespace semel {

struct GuardAccess {
  // No thread is made: all happens within the calls.
  static std::unique_ptr<Guard> without_renewal(Store& store, GuardOptions options);
};

}  // namespace semel
