// Attaching a consumer, as on every server.
#pragma once

#include <optional>

#include <semel/store.h>

#include "stores/sql/core.h"

namespace semel::sql {

struct Attached {
  ConsumerNumber number{};
  // The ttl it had, where the new one is longer.
  std::optional<Ttl> lengthened_from;
};
// In a transaction of its own. Throws Failure: R220 as Store::attach.
Attached attach_in(const Core& core, const ConsumerSpec& spec);

}  // namespace semel::sql
