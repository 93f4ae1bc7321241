// Which consumers of a config send messages to which others: publications, and copies of dead
// letters.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <semel/spi/store.h>

#include "config/config.h"
#include "core/route.h"

namespace semel::compose {

struct Outbox {
  // The destinations of a native handler: every other consumer whose source is the queue. Other
  // handlers have none.
  std::map<std::string, core::Route, std::less<>> destinations;
  std::vector<core::Route> forward_to;
  std::optional<core::Route> copies_to;
};

// Gives the receivers their numbers in the store, except in a dry run.
Result<Outbox> outbox_of(Store& store, const config::Config& config,
                         const config::ConsumerConfig& consumer, bool dry_run);

// Whether a run that ends by itself must end `from` before `to`. Two native handlers may send to
// each other; then the one that is later in the file waits.
bool feeds(const config::Config& config, const config::ConsumerConfig& from,
           const config::ConsumerConfig& to);

}  // namespace semel::compose
