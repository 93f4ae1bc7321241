// Builds and checks the spec of an HTTP handler.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/build.h"
#include "core/http_spec.h"

namespace semel::config {

// Why a header may not be set, in words that follow its name.
using HeaderFlaw = std::optional<std::string> (*)(std::string_view name);
// Builds the `headers` of a request to an endpoint; reports a header with a flaw (E051).
void build_headers(const View& map, Headers& made, Report& report, HeaderFlaw flaw_of);

core::HttpSpec build_http(const View& http, const std::string& folder, Report& report);

// Completes an HTTP handler's spec from the rest of its consumer, and the consumer from it.
void complete_http(ConsumerConfig& consumer, const View& view);

// Completes the call of an endpoint from its consumer.
void complete_call(core::HttpSpec& spec, const View& http, const ConsumerConfig& consumer);

// Warns of secrets written in the file itself. `answered`: the steps whose answers its URL may have
// places for.
void check_http(const ConsumerConfig& consumer, const View& http,
                const std::vector<std::string>& answered, Report& report);

}  // namespace semel::config
