// Maps the server's refusals and cnats' statuses to Semel's errors.
#pragma once

#include <cstdint>
#include <string_view>

#include <semel/error.h>

namespace semel::nats {

// The codes of JetStream that Semel reacts to.
inline constexpr std::int64_t kConsumerNotFound = 10'014;
inline constexpr std::int64_t kStreamNotFound = 10'059;

// `status`: a natsStatus of a connect; `said`: the text of cnats; `place`: the address of the
// server. `known`: whether messages have been consumed before. If not, a refused login or TLS
// handshake is final; later it may be a server that is still starting, and is retried.
Error connect_error(int status, std::string_view said, std::string_view place, bool known);

// JetStream refused a request, with its error code and text. `known`: as above.
Error api_error(std::int64_t code, std::string_view said, bool known);

// A request has no responder: no server of the account has JetStream.
Error no_jetstream(bool known);

// Whether waiting cannot help.
inline bool is_final(const Error& error) noexcept { return error.kind != ErrorKind::kUnavailable; }

}  // namespace semel::nats
