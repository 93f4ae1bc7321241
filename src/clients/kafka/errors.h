// Maps librdkafka's error codes to Semel's errors, in one table.
#pragma once

#include <string>
#include <string_view>

#include <semel/error.h>

namespace semel::kafka {

// `code`: an rd_kafka_resp_err_t; `said`: the text of librdkafka or the broker. `connected`:
// whether a broker has answered before. If none has, a refused login is final; later it may be a
// password change in progress, and is retried.
Error error_of(int code, std::string_view said, bool connected);

// Whether waiting cannot help.
inline bool is_final(const Error& error) noexcept { return error.kind != ErrorKind::kUnavailable; }

// Whether the topic or the partition does not exist.
bool is_missing(int code) noexcept;

// Describes the code in librdkafka's words.
std::string what_is(int code);

// The part of an error's text that is the same each time: behind it librdkafka says how long it
// took and how many it suppressed.
std::string_view without_times(std::string_view text) noexcept;

Error brokers_away(std::string_view brokers, std::string_view said);
Error no_such_topic(std::string_view topic);

}  // namespace semel::kafka
