// Maps the broker's reply codes and librabbitmq's statuses to Semel's errors, in one table.
#pragma once

#include <string>
#include <string_view>

#include <semel/error.h>

namespace semel::rabbitmq {

// The step that failed: one reply code means several things.
enum class Step { kConnect, kQueue, kConsume, kPublish };

// `code`: an AMQP reply code; `said`: the broker's text. `known`: whether messages have been
// consumed before. If not, a refused login, vhost or queue is final; later it may be a broker that
// is still starting or a password change in progress, and is retried.
Error refusal_of(int code, std::string_view said, Step step, bool known);
// `status`: an amqp_status_enum; `place`: the address of the broker.
Error status_error(int status, std::string_view place, bool tls, bool known);

// Whether waiting cannot help.
inline bool is_final(const Error& error) noexcept { return error.kind != ErrorKind::kUnavailable; }

}  // namespace semel::rabbitmq
