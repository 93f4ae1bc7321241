// Who of a config sends messages to whom: a consumer's publications, and copies of its dead
// letters.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <semel/spi/store.h>

#include "config/config.h"

namespace semel::compose {

struct Outbox {
  // What a native handler may publish to: every other consumer whose source is the queue. Of other
  // handlers none.
  std::map<std::string, ConsumerNumber, std::less<>> destinations;
  std::vector<ConsumerNumber> forward_to;
  std::optional<ConsumerNumber> copies_to;
};

// The receivers get their numbers in the store, but for a dry run.
Result<Outbox> outbox_of(Store& store, const config::Config& config,
                         const config::ConsumerConfig& consumer, bool dry_run);

// Whether a run that is to end by itself waits with the end of `to` for that of `from`. Two native
// handlers may send to each other; then the one that is later in the file waits.
bool feeds(const config::Config& config, const config::ConsumerConfig& from,
           const config::ConsumerConfig& to);

}  // namespace semel::compose
