// The server's refusals and cnats' statuses as errors of ours.
#pragma once

#include <cstdint>
#include <string_view>

#include <semel/error.h>

namespace semel::nats {

// JetStream's own codes, where something follows from them.
inline constexpr std::int64_t kConsumerNotFound = 10'014;
inline constexpr std::int64_t kStreamNotFound = 10'059;

// `status`: a natsStatus of a connect; `said`: what cnats says with it; `place`: where the server
// should be. `known`: whether messages have been consumed before. Where not, a login or TLS that is
// refused is final; later it may be a server that is just starting, and is waited for.
Error connect_error(int status, std::string_view said, std::string_view place, bool known);

// JetStream refuses a request: its error code and its words. `known`: as above.
Error api_error(std::int64_t code, std::string_view said, bool known);

// Nobody answers a request: no server of the account has JetStream.
Error no_jetstream(bool known);

// Wrong in a way that no waiting mends.
inline bool is_final(const Error& error) noexcept { return error.kind != ErrorKind::kUnavailable; }

}  // namespace semel::nats
