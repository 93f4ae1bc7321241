// Looks beside a run for what a start would find wrong in another config.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include <semel/result.h>
#include <semel/spi/store.h>

#include "compose/compose.h"
#include "compose/live.h"
#include "config/config.h"
#include "config/difference.h"

namespace semel::compose {

// kRejected where a statement cannot run at all: no run begins on it.
Result<void> refuse_missing(const Live& live);

// Ports that come free once the consumers that are to end have.
using LeavingPorts = std::set<std::uint16_t>;

// The port of the consumer's HTTP source; nothing where it has none.
std::optional<std::uint16_t> listen_port(const config::Config& config, std::string_view consumer);

// The consumers of `next` that come or change. Opens none of their sources, and changes nothing in
// the store; listens for a moment where an HTTP source is to. Asks brokers for some seconds each:
// one that does not answer is asked by the source again.
Result<void> check_consumers(Store& store, const ServiceOptions& options,
                             const config::Config& next, const config::Difference& difference,
                             const LeavingPorts& leaving);

}  // namespace semel::compose
