// Builds `source.sqs:`, and checks it with the rest of its consumer.
#pragma once

#include <optional>
#include <string>

#include "config/build.h"

namespace semel::config {

// Queue, region, credentials: what the source and the handler have in common.
void build_sqs_access(const View& sqs, const std::string& folder, core::SqsAccess& access,
                      Report& report);

// The access key that stands in the config, where one does.
void build_sqs_keys(const View& sqs, core::SqsAccess& access, Report& report);

core::SqsSpec build_sqs(const View& sqs, const std::string& folder, Report& report);

// A FIFO queue orders by its message groups. nullopt for any other source.
std::optional<core::Order> order_of_sqs(const SourceConfig& source);

// Credentials in a file that others may read. `sqs`: of a source or a handler.
void warn_of_sqs_secrets(const View& sqs, Report& report);
// The source's.
void check_sqs(const ConsumerConfig& consumer, const View& view, Report& report);

}  // namespace semel::config
