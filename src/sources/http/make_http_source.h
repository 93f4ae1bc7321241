// Makes the HTTP source.
#pragma once

#include <memory>

#include <semel/environment.h>
#include <semel/result.h>
#include <semel/spi/source.h>

#include "core/http_source_spec.h"

namespace semel::sources {

// A request that is not answered well is sent again by its sender; so is one whose connection was
// cut.
inline constexpr SourceTraits kHttpTraits{.name = "http", .redelivers = true, .answers = true};

// Requests of HTTP. It listens at once; what comes before the first receive waits. R320: the
// address cannot be listened on; R321: the certificate cannot be used.
Result<std::unique_ptr<Source>> make_http_source(core::HttpSourceSpec spec,
                                                 Environment& environment = system_environment());

// Finds what would keep make_http_source from making one now: the certificate is read, and the
// address listened on for a moment. R320 of kind kUnavailable: the address is in use, perhaps by
// this process.
Result<void> check_http_source(const core::HttpSourceSpec& spec);

}  // namespace semel::sources
