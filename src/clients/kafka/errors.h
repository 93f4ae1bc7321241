// librdkafka's error codes as errors of ours: one table.
#pragma once

#include <string>
#include <string_view>

#include <semel/error.h>

namespace semel::kafka {

// `code`: an rd_kafka_resp_err_t; `said`: librdkafka's own words, or the broker's. `connected`:
// whether a broker has answered before. Where none has, a login that is refused is final; later it
// may be a password that is changed right now, and is waited for.
Error error_of(int code, std::string_view said, bool connected);

// Wrong in a way that no waiting mends.
inline bool is_final(const Error& error) noexcept { return error.kind != ErrorKind::kUnavailable; }

// The topic or the partition is not there.
bool is_missing(int code) noexcept;

// In librdkafka's words.
std::string what_is(int code);

Error brokers_away(std::string_view brokers, std::string_view said);
Error no_such_topic(std::string_view topic);

}  // namespace semel::kafka
