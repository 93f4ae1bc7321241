// Makes the HTTP source.
#pragma once

#include <memory>

#include <semel/environment.h>
#include <semel/result.h>
#include <semel/spi/source.h>

#include "core/http_source_spec.h"

namespace semel::sources {

// The sender repeats a request without a successful answer, and one whose connection was cut.
inline constexpr SourceTraits kHttpTraits{
    .name = "http", .redelivers = true, .answers = true, .tells_lag = true};

// HTTP requests. It listens immediately; requests before the first receive wait. R320: the address
// cannot be listened on; R321: the certificate cannot be used.
Result<std::unique_ptr<Source>> make_http_source(core::HttpSourceSpec spec,
                                                 Environment& environment = system_environment());

// Checks what would make make_http_source fail now: reads the certificate, and listens on the
// address for a moment. R320 of kind kUnavailable: the address is in use, perhaps by this process.
Result<void> check_http_source(const core::HttpSourceSpec& spec);

}  // namespace semel::sources
