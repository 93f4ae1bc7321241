#include "handlers/rabbitmq/confirm_channel.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "clients/rabbitmq/amqp_values.h"

namespace semel::rabbitmq {

namespace {

constexpr amqp_channel_t kPublish = Connection::kChannel;
// Asking for a missing exchange closes the channel, so the question has a channel of its own.
constexpr amqp_channel_t kAsk = 2;
constexpr std::uint64_t kReserveAtMost = 1 << 20;
constexpr std::uint8_t kPersistent = 2;

amqp_bytes_t bytes_of(std::string_view text) { return borrowed<amqp_bytes_t>(text); }

std::vector<amqp_table_entry_t> table_of(const Headers& headers) {
  std::vector<amqp_table_entry_t> entries(headers.size());
  for (std::size_t i = 0; i < headers.size(); ++i) {
    entries[i].key = bytes_of(headers[i].name);
    entries[i].value.kind =
        is_utf8(headers[i].value) ? AMQP_FIELD_KIND_UTF8 : AMQP_FIELD_KIND_BYTES;
    entries[i].value.value.bytes = bytes_of(headers[i].value);
  }
  return entries;
}

amqp_basic_properties_t properties_of(const Outgoing& outgoing,
                                      std::vector<amqp_table_entry_t>& table) {
  amqp_basic_properties_t made{};
  const auto add = [&](amqp_flags_t flag, amqp_bytes_t& place, const std::string& value) {
    if (value.empty()) return;
    made._flags |= flag;
    place = bytes_of(value);
  };
  add(AMQP_BASIC_MESSAGE_ID_FLAG, made.message_id, outgoing.message_id);
  add(AMQP_BASIC_CONTENT_TYPE_FLAG, made.content_type, outgoing.content_type);
  add(AMQP_BASIC_TYPE_FLAG, made.type, outgoing.type);
  add(AMQP_BASIC_CORRELATION_ID_FLAG, made.correlation_id, outgoing.correlation_id);
  add(AMQP_BASIC_REPLY_TO_FLAG, made.reply_to, outgoing.reply_to);
  add(AMQP_BASIC_CONTENT_ENCODING_FLAG, made.content_encoding, outgoing.content_encoding);
  add(AMQP_BASIC_APP_ID_FLAG, made.app_id, outgoing.app_id);
  if (outgoing.timestamp) {
    made._flags |= AMQP_BASIC_TIMESTAMP_FLAG;
    made.timestamp = *outgoing.timestamp;
  }
  made._flags |= AMQP_BASIC_DELIVERY_MODE_FLAG;
  made.delivery_mode = kPersistent;
  if (!table.empty()) {
    made._flags |= AMQP_BASIC_HEADERS_FLAG;
    made.headers = {static_cast<int>(table.size()), table.data()};
  }
  return made;
}

}  // namespace

ConfirmChannel::ConfirmChannel(const core::RabbitmqAccess& access, Watcher& watcher, bool known)
    : watcher_(watcher), connection_(access, known) {}

Result<void> ConfirmChannel::begin() {
  if (auto let_in = connection_.login(); !let_in) return let_in;
  if (auto opened = connection_.open_channel(); !opened) return opened;
  amqp_confirm_select(connection_.handle(), kPublish);
  return connection_.checked(amqp_get_rpc_reply(connection_.handle()), Step::kPublish);
}

std::size_t ConfirmChannel::frame_limit() const noexcept {
  return static_cast<std::size_t>(amqp_get_frame_max(connection_.handle()));
}

Result<bool> ConfirmChannel::has_exchange(std::string_view name) {
  if (!asks_) {
    if (auto opened = connection_.open_channel(kAsk); !opened) {
      return failure(std::move(opened.error()));
    }
    asks_ = true;
  }
  amqp_exchange_declare(connection_.handle(), kAsk, bytes_of(name), bytes_of("direct"), 1, 0, 0, 0,
                        amqp_empty_table);
  const amqp_rpc_reply_t reply = amqp_get_rpc_reply(connection_.handle());
  if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION &&
      reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD) {
    asks_ = false;
    const auto* const said = static_cast<const amqp_channel_close_t*>(reply.reply.decoded);
    const bool missing = said->reply_code == AMQP_NOT_FOUND;
    amqp_channel_close_ok_t seen{};
    auto told = connection_.sent(
        amqp_send_method(connection_.handle(), kAsk, AMQP_CHANNEL_CLOSE_OK_METHOD, &seen));
    if (!told) return failure(std::move(told.error()));
    // Other errors will show when publishing.
    return !missing;
  }
  if (auto answered = connection_.checked(reply, Step::kPublish); !answered) {
    return failure(std::move(answered.error()));
  }
  return true;
}

Result<std::uint64_t> ConfirmChannel::publish(const Outgoing& outgoing, BytesView payload) {
  auto table = table_of(outgoing.headers);
  const amqp_basic_properties_t properties = properties_of(outgoing, table);
  const int status = amqp_basic_publish(
      connection_.handle(), kPublish, bytes_of(outgoing.route.exchange),
      bytes_of(outgoing.route.routing_key), 1, 0, &properties, bytes_of(payload));
  if (auto sent = connection_.sent(status); !sent) return failure(std::move(sent.error()));
  return ++published_;
}

Result<void> ConfirmChannel::read(std::size_t frames) {
  return connection_.read(frames, [this](const amqp_frame_t& frame) { return take(frame); });
}

Result<void> ConfirmChannel::take(const amqp_frame_t_& frame) {
  switch (frame.frame_type) {
    case AMQP_FRAME_METHOD:
      return take_method(frame.payload.method);
    case AMQP_FRAME_HEADER: {
      if (!coming_ || coming_->began) return connection_.lost(AMQP_STATUS_UNEXPECTED_STATE);
      coming_->began = true;
      coming_->size = frame.payload.properties.body_size;
      const auto& properties =
          *static_cast<const amqp_basic_properties_t*>(frame.payload.properties.decoded);
      if ((properties._flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0) {
        coming_->returned.message_id = view_of(properties.message_id);
      }
      coming_->returned.payload.reserve(std::min(coming_->size, kReserveAtMost));
      break;
    }
    case AMQP_FRAME_BODY:
      if (!coming_ || !coming_->began) return connection_.lost(AMQP_STATUS_UNEXPECTED_STATE);
      coming_->returned.payload.append(view_of(frame.payload.body_fragment));
      break;
    default:
      return {};
  }
  if (coming_->returned.payload.size() >= coming_->size) {
    Coming whole = std::move(*coming_);
    coming_.reset();
    watcher_.on_return(std::move(whole.returned));
  }
  return {};
}

Result<void> ConfirmChannel::take_method(const amqp_method_t_& method) {
  switch (method.id) {
    case AMQP_BASIC_ACK_METHOD: {
      const auto* const told = static_cast<const amqp_basic_ack_t*>(method.decoded);
      watcher_.on_confirm(told->delivery_tag, told->multiple != 0, true);
      return {};
    }
    case AMQP_BASIC_NACK_METHOD: {
      const auto* const told = static_cast<const amqp_basic_nack_t*>(method.decoded);
      watcher_.on_confirm(told->delivery_tag, told->multiple != 0, false);
      return {};
    }
    case AMQP_BASIC_RETURN_METHOD: {
      const auto* const told = static_cast<const amqp_basic_return_t*>(method.decoded);
      Returned& returned = coming_.emplace(Coming{{}, 0, false}).returned;
      returned.route = {std::string(view_of(told->exchange)),
                        std::string(view_of(told->routing_key))};
      returned.why = view_of(told->reply_text);
      return {};
    }
    case AMQP_CONNECTION_BLOCKED_METHOD:
      watcher_.on_blocked(std::string(
          view_of(static_cast<const amqp_connection_blocked_t*>(method.decoded)->reason)));
      return {};
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
      watcher_.on_blocked(std::nullopt);
      return {};
    case AMQP_CHANNEL_CLOSE_METHOD: {
      const auto* const told = static_cast<const amqp_channel_close_t*>(method.decoded);
      closed_ = {told->reply_code, std::string(view_of(told->reply_text))};
      return connection_.refused(method, Step::kPublish);
    }
    case AMQP_CONNECTION_CLOSE_METHOD:
      return connection_.refused(method, Step::kPublish);
    default:
      return {};
  }
}

}  // namespace semel::rabbitmq
