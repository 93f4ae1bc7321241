#include "sources/rabbitmq/client.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "clients/rabbitmq/amqp_values.h"
#include "sources/rabbitmq/arrival.h"

namespace semel::rabbitmq {

namespace {

constexpr amqp_channel_t kChannel = Connection::kChannel;
constexpr const char* kConsumerTag = "semel";
// A producer declares its message's length; memory is allocated as the body arrives.
constexpr std::uint64_t kReserveAtMost = 1 << 20;

amqp_bytes_t bytes_of(std::string_view text) { return borrowed<amqp_bytes_t>(text); }

amqp_table_entry_t queue_type(const char* value) {
  amqp_table_entry_t entry{};
  entry.key = amqp_cstring_bytes("x-queue-type");
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = amqp_cstring_bytes(value);
  return entry;
}

}  // namespace

Client::Client(const core::RabbitmqSpec& spec, Watcher& watcher, bool known)
    : spec_(spec), watcher_(watcher), connection_(spec, known) {}

Result<void> Client::declare() {
  std::array arguments = {
      queue_type(spec_.type == core::RabbitmqSpec::QueueType::kQuorum ? "quorum" : "classic")};
  const amqp_table_t table{static_cast<int>(arguments.size()), arguments.data()};
  amqp_queue_declare(connection_.handle(), kChannel, bytes_of(spec_.queue), spec_.declare ? 0 : 1,
                     1, 0, 0, spec_.declare ? table : amqp_empty_table);
  return connection_.checked(amqp_get_rpc_reply(connection_.handle()), Step::kQueue);
}

Result<void> Client::consume() {
  auto done = connection_.open_channel();
  if (done) done = declare();
  if (!done) return done;
  amqp_basic_qos(connection_.handle(), kChannel, 0, static_cast<std::uint16_t>(spec_.prefetch), 0);
  done = connection_.checked(amqp_get_rpc_reply(connection_.handle()), Step::kConsume);
  if (!done) return done;
  amqp_basic_consume(connection_.handle(), kChannel, bytes_of(spec_.queue),
                     amqp_cstring_bytes(kConsumerTag), 0, 0, 0, amqp_empty_table);
  done = connection_.checked(amqp_get_rpc_reply(connection_.handle()), Step::kConsume);
  if (done) connection_.set_known();
  return done;
}

Result<void> Client::read(std::size_t frames) {
  return connection_.read(frames, [this](const amqp_frame_t& frame) { return take(frame); });
}

Result<void> Client::take(const amqp_frame_t_& frame) {
  switch (frame.frame_type) {
    case AMQP_FRAME_METHOD:
      return take_method(frame.payload.method);
    case AMQP_FRAME_HEADER:
      if (!coming_ || coming_->arrival) return connection_.lost(AMQP_STATUS_UNEXPECTED_STATE);
      coming_->size = frame.payload.properties.body_size;
      coming_->arrival = arrival_of(
          *static_cast<const amqp_basic_properties_t*>(frame.payload.properties.decoded));
      coming_->arrival->payload.reserve(std::min(coming_->size, kReserveAtMost));
      break;
    case AMQP_FRAME_BODY:
      if (!coming_ || !coming_->arrival) return connection_.lost(AMQP_STATUS_UNEXPECTED_STATE);
      coming_->arrival->payload.append(static_cast<const char*>(frame.payload.body_fragment.bytes),
                                       frame.payload.body_fragment.len);
      break;
    default:
      return {};
  }
  if (coming_->arrival->payload.size() >= coming_->size) end_message();
  return {};
}

void Client::end_message() {
  Coming whole = std::move(*coming_);
  coming_.reset();
  // The consumer that had it may have died of it.
  whole.arrival->suspect = whole.redelivered;
  watcher_.on_delivery(whole.tag, std::move(whole.arrival));
}

Result<void> Client::take_method(const amqp_method_t_& method) {
  switch (method.id) {
    case AMQP_BASIC_DELIVER_METHOD: {
      const auto* const told = static_cast<const amqp_basic_deliver_t*>(method.decoded);
      coming_.emplace().tag = told->delivery_tag;
      coming_->redelivered = told->redelivered != 0;
      return {};
    }
    case AMQP_QUEUE_DECLARE_OK_METHOD: {
      const auto* const told = static_cast<const amqp_queue_declare_ok_t*>(method.decoded);
      watcher_.on_depth(told->message_count, told->consumer_count);
      return {};
    }
    case AMQP_CONNECTION_BLOCKED_METHOD:
      watcher_.on_blocked(std::string(
          view_of(static_cast<const amqp_connection_blocked_t*>(method.decoded)->reason)));
      return {};
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
      watcher_.on_blocked(std::nullopt);
      return {};
    case AMQP_BASIC_CANCEL_METHOD:
      return failure({ErrorKind::kUnavailable, "R314",
                      fmt::format("the broker has ended the consumption of queue {}: it was "
                                  "deleted, or its leader has moved",
                                  spec_.queue),
                      "if it was deleted, make it again"});
    case AMQP_CHANNEL_CLOSE_METHOD:
    case AMQP_CONNECTION_CLOSE_METHOD:
      return connection_.refused(method, Step::kConsume);
    default:
      return {};
  }
}

Result<void> Client::ack(std::uint64_t tag, bool multiple) {
  return connection_.sent(amqp_basic_ack(connection_.handle(), kChannel, tag, multiple ? 1 : 0));
}

Result<void> Client::ask_depth() {
  amqp_queue_declare_t question{};
  question.queue = bytes_of(spec_.queue);
  question.passive = 1;
  return connection_.sent(
      amqp_send_method(connection_.handle(), kChannel, AMQP_QUEUE_DECLARE_METHOD, &question));
}

Result<void> Client::stop_consuming(Deadline deadline) {
  connection_.set_answer_deadline(deadline);
  amqp_basic_cancel(connection_.handle(), kChannel, amqp_cstring_bytes(kConsumerTag));
  return connection_.checked(amqp_get_rpc_reply(connection_.handle()), Step::kConsume);
}

}  // namespace semel::rabbitmq
