// `source.sqs:` into its spec, and what it asks of the rest.
#pragma once

#include <optional>
#include <string>

#include "config/build.h"

namespace semel::config {

core::SqsSpec build_sqs(const View& sqs, const std::string& folder, Report& report);

// A FIFO queue has an order of its own: by its message groups. None for any other source.
std::optional<core::Order> order_of_sqs(const SourceConfig& source);

// Credentials in a file that others may read.
void check_sqs(const ConsumerConfig& consumer, const View& view, Report& report);

}  // namespace semel::config
