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

Result<QueueLook> queue_at(const core::RabbitmqSpec& spec, const core::RabbitmqNode& node) {
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
  const QueueLook look{true, answer->message_count, answer->consumer_count};
  // The broker logs a connection that is not closed. A failure here does not matter.
  (void)connection.close(std::chrono::steady_clock::now() + kClosePatience);
  return look;
}

bool is_missing_queue(const Error& error) {
  return error.code == "R314" && error.kind == ErrorKind::kRejected;
}

}  // namespace

Result<QueueLook> look_at_queue(const core::RabbitmqSpec& spec) {
  std::optional<Error> last;
  for (const core::RabbitmqNode& node : spec.address.nodes) {
    auto look = queue_at(spec, node);
    if (look) return look;
    if (spec.declare && is_missing_queue(look.error())) return QueueLook{.there = false};
    last = std::move(look.error());
    if (last->kind != ErrorKind::kUnavailable) break;
  }
  return failure(*std::move(last));
}

}  // namespace semel::rabbitmq
