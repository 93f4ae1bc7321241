#include <amqp.h>
#include <amqp_framing.h>

#include <chrono>
#include <optional>
#include <utility>

#include "clients/rabbitmq/amqp_values.h"
#include "clients/rabbitmq/connection.h"
#include "sources/rabbitmq/make_rabbitmq_source.h"

namespace semel::rabbitmq {

namespace {

constexpr std::chrono::seconds kClosePatience{1};

Result<std::int64_t> depth_at(const core::RabbitmqSpec& spec, const core::RabbitmqNode& node) {
  Connection connection(spec, false);
  auto done = connection.open(node);
  if (done) done = connection.login();
  if (done) done = connection.open_channel();
  if (!done) return failure(std::move(done.error()));
  constexpr amqp_boolean_t kPassive = 1;
  constexpr amqp_boolean_t kDurable = 1;
  const auto* const answer = amqp_queue_declare(connection.handle(), Connection::kChannel,
                                                borrowed<amqp_bytes_t>(spec.queue), kPassive,
                                                kDurable, 0, 0, amqp_empty_table);
  done = connection.checked(amqp_get_rpc_reply(connection.handle()), Step::kQueue);
  if (!done) return failure(std::move(done.error()));
  const std::int64_t ready = answer->message_count;
  // The broker logs a connection that is not closed. A failure here does not matter.
  (void)connection.close(std::chrono::steady_clock::now() + kClosePatience);
  return ready;
}

bool is_missing_queue(const Error& error) {
  return error.code == "R314" && error.kind == ErrorKind::kRejected;
}

}  // namespace

Result<std::int64_t> look_at_depth(const core::RabbitmqSpec& spec) {
  std::optional<Error> last;
  for (const core::RabbitmqNode& node : spec.address.nodes) {
    auto depth = depth_at(spec, node);
    if (depth) return depth;
    if (spec.declare && is_missing_queue(depth.error())) return 0;
    last = std::move(depth.error());
    if (last->kind != ErrorKind::kUnavailable) break;
  }
  return failure(*std::move(last));
}

}  // namespace semel::rabbitmq
