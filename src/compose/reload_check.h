// Checks another config while a run continues, for errors that a start would find.
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

// kRejected where a statement cannot run at all: then no run can begin.
Result<void> refuse_missing(const Live& live);

// Ports that become free once the consumers that are to end have ended.
using LeavingPorts = std::set<std::uint16_t>;

// The port of the consumer's HTTP source; nullopt where it has none.
std::optional<std::uint16_t> listen_port(const config::Config& config, std::string_view consumer);

// Checks the added and changed consumers of `next`. Opens none of their sources, and changes
// nothing in the store; listens for a moment on the address of an HTTP source. Asks brokers for
// some seconds each: if one does not answer, the source will ask it again.
Result<void> check_consumers(Store& store, const ServiceOptions& options,
                             const config::Config& next, const config::Difference& difference,
                             const LeavingPorts& leaving);

}  // namespace semel::compose
