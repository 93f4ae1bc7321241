// The broker's reply codes and librabbitmq's statuses as errors of ours: one table.
#pragma once

#include <string>
#include <string_view>

#include <semel/error.h>

namespace semel::rabbitmq {

// What was asked for when it went wrong: one reply code means several things.
enum class Step { kConnect, kQueue, kConsume, kPublish };

// `code`: an AMQP reply code; `said`: the broker's words. `known`: whether messages have been
// consumed before. Where not, a login, vhost or queue that is refused is final; later it may be a
// broker that is just starting, or a password that is changed right now, and is waited for.
Error refusal_of(int code, std::string_view said, Step step, bool known);
// `status`: an amqp_status_enum; `place`: where the broker should be.
Error status_error(int status, std::string_view place, bool tls, bool known);

// Wrong in a way that no waiting mends.
inline bool is_final(const Error& error) noexcept { return error.kind != ErrorKind::kUnavailable; }

}  // namespace semel::rabbitmq
