#include "sources/rabbitmq/client.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <fmt/format.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sources/rabbitmq/arrival.h"
#include "sources/rabbitmq/tls.h"

namespace semel::rabbitmq {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr amqp_channel_t kChannel = 1;
constexpr int kFrameMax = 131'072;
constexpr seconds kConnectPatience{5};
constexpr seconds kAnswerPatience{10};
constexpr const char* kConsumerTag = "semel";
// A producer says how long its message is; room is made as it comes.
constexpr std::uint64_t kReserveAtMost = 1 << 20;

amqp_bytes_t bytes_of(std::string_view text) {
  return {text.size(), const_cast<char*>(text.data())};
}

std::string text_of(const amqp_bytes_t& bytes) {
  return bytes.len == 0 ? std::string() : std::string(static_cast<char*>(bytes.bytes), bytes.len);
}

timeval time_of(milliseconds time) {
  return {static_cast<time_t>(time.count() / 1000),
          static_cast<suseconds_t>(time.count() % 1000 * 1000)};
}

amqp_table_entry_t flag(const char* name) {
  amqp_table_entry_t entry{};
  entry.key = amqp_cstring_bytes(name);
  entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
  entry.value.value.boolean = 1;
  return entry;
}

amqp_table_entry_t text(const char* name, const char* value) {
  amqp_table_entry_t entry{};
  entry.key = amqp_cstring_bytes(name);
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = amqp_cstring_bytes(value);
  return entry;
}

Error bad_file(const std::string& what) {
  return {ErrorKind::kRejected, "R312", what,
          "rabbitmq: { tls: { ca: ca.pem, cert: client.pem, key: client.key } }, files in PEM "
          "format"};
}

}  // namespace

Client::Client(const core::RabbitmqSpec& spec, Watcher& watcher, bool known)
    : spec_(spec), watcher_(watcher), known_(known), connection_(amqp_new_connection()) {}

Result<void> Client::use_tls() {
  amqp_socket_t* const socket = amqp_ssl_socket_new(connection_.get());
  if (socket == nullptr) return failure(bad_file("OpenSSL cannot begin"));
  amqp_ssl_socket_set_verify_peer(socket, 1);
  amqp_ssl_socket_set_verify_hostname(socket, 1);
  amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST);
  if (spec_.tls_ca.empty()) {
    if (!trust_the_system(amqp_ssl_socket_get_context(socket))) {
      return failure(bad_file("the system names nobody whom to trust: name a CA"));
    }
  } else if (amqp_ssl_socket_set_cacert(socket, spec_.tls_ca.c_str()) != AMQP_STATUS_OK) {
    return failure(bad_file(fmt::format("{} is no file of certificates", spec_.tls_ca)));
  }
  if (!spec_.tls_cert.empty() && amqp_ssl_socket_set_key(socket, spec_.tls_cert.c_str(),
                                                         spec_.tls_key.c_str()) != AMQP_STATUS_OK) {
    return failure(bad_file(
        fmt::format("{} and {} are no certificate with its key", spec_.tls_cert, spec_.tls_key)));
  }
  return {};
}

Result<void> Client::open(const core::RabbitmqNode& node) {
  place_ = fmt::format("{}:{}", node.host, node.port);
  if (spec_.address.tls) {
    if (auto ready = use_tls(); !ready) return ready;
  } else {
    amqp_tcp_socket_new(connection_.get());
  }
  const timeval connect = time_of(kConnectPatience);
  const timeval answer = time_of(kAnswerPatience);
  amqp_set_handshake_timeout(connection_.get(), &connect);
  amqp_set_rpc_timeout(connection_.get(), &answer);
  const int status = amqp_socket_open_noblock(amqp_get_socket(connection_.get()), node.host.c_str(),
                                              static_cast<int>(node.port), &connect);
  if (status == AMQP_STATUS_OK) return {};
  return failure(status_error(status, place_, spec_.address.tls, known_));
}

Result<void> Client::login() {
  // Without these the broker would not tell that a queue was deleted, nor that it is short of room.
  std::array capabilities = {flag("consumer_cancel_notify"), flag("connection.blocked")};
  std::array properties = {text("product", "Semel"), amqp_table_entry_t{}};
  properties[1].key = amqp_cstring_bytes("capabilities");
  properties[1].value.kind = AMQP_FIELD_KIND_TABLE;
  properties[1].value.value.table = {static_cast<int>(capabilities.size()), capabilities.data()};
  const amqp_table_t table{static_cast<int>(properties.size()), properties.data()};
  const core::RabbitmqAddress& address = spec_.address;
  const auto reply = amqp_login_with_properties(
      connection_.get(), address.vhost.c_str(), kChannel, kFrameMax,
      static_cast<int>(spec_.heartbeat.count()), &table, AMQP_SASL_METHOD_PLAIN,
      address.user.c_str(), address.password.c_str());
  if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION) {
    return failure(status_error(reply.library_error, place_, address.tls, known_));
  }
  return checked(reply, Step::kConnect);
}

Result<void> Client::declare() {
  std::array arguments = {text(
      "x-queue-type", spec_.type == core::RabbitmqSpec::QueueType::kQuorum ? "quorum" : "classic")};
  const amqp_table_t table{static_cast<int>(arguments.size()), arguments.data()};
  amqp_queue_declare(connection_.get(), kChannel, bytes_of(spec_.queue), spec_.declare ? 0 : 1, 1,
                     0, 0, spec_.declare ? table : amqp_empty_table);
  return checked(amqp_get_rpc_reply(connection_.get()), Step::kQueue);
}

Result<void> Client::consume() {
  amqp_channel_open(connection_.get(), kChannel);
  auto done = checked(amqp_get_rpc_reply(connection_.get()), Step::kConnect);
  if (done) done = declare();
  if (!done) return done;
  amqp_basic_qos(connection_.get(), kChannel, 0, static_cast<std::uint16_t>(spec_.prefetch), 0);
  done = checked(amqp_get_rpc_reply(connection_.get()), Step::kConsume);
  if (!done) return done;
  amqp_basic_consume(connection_.get(), kChannel, bytes_of(spec_.queue),
                     amqp_cstring_bytes(kConsumerTag), 0, 0, 0, amqp_empty_table);
  done = checked(amqp_get_rpc_reply(connection_.get()), Step::kConsume);
  known_ = known_ || done.has_value();
  return done;
}

int Client::descriptor() const noexcept { return amqp_get_sockfd(connection_.get()); }

milliseconds Client::patience() const noexcept {
  // Of the heartbeat that both have agreed on. A quarter: ours are due at half of it.
  const milliseconds heartbeat = seconds(amqp_get_heartbeat(connection_.get()));
  return heartbeat.count() == 0 ? milliseconds(seconds(5)) : heartbeat / 4;
}

bool Client::has_more() const noexcept {
  return amqp_frames_enqueued(connection_.get()) != 0 ||
         amqp_data_in_buffer(connection_.get()) != 0;
}

Result<void> Client::read(std::size_t frames) {
  const timeval no_time{0, 0};
  for (std::size_t i = 0; i < frames; ++i) {
    amqp_frame_t frame;
    const int status = amqp_simple_wait_frame_noblock(connection_.get(), &frame, &no_time);
    if (status == AMQP_STATUS_TIMEOUT) return {};
    if (status != AMQP_STATUS_OK) return lost(status);
    if (auto taken = take(frame); !taken) return taken;
    amqp_maybe_release_buffers_on_channel(connection_.get(), frame.channel);
  }
  return {};
}

Result<void> Client::take(const amqp_frame_t_& frame) {
  switch (frame.frame_type) {
    case AMQP_FRAME_METHOD:
      return take_method(frame.payload.method);
    case AMQP_FRAME_HEADER:
      if (!coming_ || coming_->began) return lost(AMQP_STATUS_UNEXPECTED_STATE);
      coming_->began = true;
      coming_->size = frame.payload.properties.body_size;
      coming_->arrival = arrival_of(
          *static_cast<const amqp_basic_properties_t*>(frame.payload.properties.decoded));
      coming_->arrival.payload.reserve(std::min(coming_->size, kReserveAtMost));
      break;
    case AMQP_FRAME_BODY:
      if (!coming_ || !coming_->began) return lost(AMQP_STATUS_UNEXPECTED_STATE);
      coming_->arrival.payload.append(static_cast<const char*>(frame.payload.body_fragment.bytes),
                                      frame.payload.body_fragment.len);
      break;
    default:
      return {};
  }
  if (coming_->arrival.payload.size() >= coming_->size) end_message();
  return {};
}

void Client::end_message() {
  Coming whole = std::move(*coming_);
  coming_.reset();
  watcher_.on_delivery(whole.tag, std::move(whole.arrival));
}

Result<void> Client::take_method(const amqp_method_t_& method) {
  switch (method.id) {
    case AMQP_BASIC_DELIVER_METHOD:
      coming_.emplace().tag =
          static_cast<const amqp_basic_deliver_t*>(method.decoded)->delivery_tag;
      return {};
    case AMQP_QUEUE_DECLARE_OK_METHOD: {
      const auto* const told = static_cast<const amqp_queue_declare_ok_t*>(method.decoded);
      watcher_.on_depth(told->message_count, told->consumer_count);
      return {};
    }
    case AMQP_CONNECTION_BLOCKED_METHOD:
      watcher_.on_blocked(
          text_of(static_cast<const amqp_connection_blocked_t*>(method.decoded)->reason));
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
      return refused(method, Step::kConsume);
    default:
      return {};
  }
}

Result<void> Client::ack(std::uint64_t tag, bool multiple) {
  return sent(amqp_basic_ack(connection_.get(), kChannel, tag, multiple ? 1 : 0));
}

Result<void> Client::ask_depth() {
  amqp_queue_declare_t question{};
  question.queue = bytes_of(spec_.queue);
  question.passive = 1;
  return sent(amqp_send_method(connection_.get(), kChannel, AMQP_QUEUE_DECLARE_METHOD, &question));
}

Result<void> Client::stop_consuming(Deadline deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
  const timeval answer = time_of(std::max(left, milliseconds(1)));
  amqp_set_rpc_timeout(connection_.get(), &answer);
  amqp_basic_cancel(connection_.get(), kChannel, amqp_cstring_bytes(kConsumerTag));
  return checked(amqp_get_rpc_reply(connection_.get()), Step::kConsume);
}

Result<void> Client::close(Deadline deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
  const timeval answer = time_of(std::max(left, milliseconds(1)));
  amqp_set_rpc_timeout(connection_.get(), &answer);
  // Frames of one channel are read in their order.
  auto closed =
      checked(amqp_channel_close(connection_.get(), kChannel, AMQP_REPLY_SUCCESS), Step::kConsume);
  if (closed) (void)amqp_connection_close(connection_.get(), AMQP_REPLY_SUCCESS);
  return closed;
}

Result<void> Client::checked(const amqp_rpc_reply_t_& reply, Step step) const {
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) return {};
  if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION) return refused(reply.reply, step);
  return lost(reply.library_error);
}

Result<void> Client::sent(int status) const {
  if (status == AMQP_STATUS_OK) return {};
  return lost(status);
}

tl::unexpected<Error> Client::refused(const amqp_method_t_& method, Step step) const {
  if (method.id == AMQP_CHANNEL_CLOSE_METHOD) {
    const auto* const said = static_cast<const amqp_channel_close_t*>(method.decoded);
    return failure(refusal_of(said->reply_code, text_of(said->reply_text), step, known_));
  }
  if (method.id == AMQP_CONNECTION_CLOSE_METHOD) {
    const auto* const said = static_cast<const amqp_connection_close_t*>(method.decoded);
    return failure(refusal_of(said->reply_code, text_of(said->reply_text), step, known_));
  }
  return lost(AMQP_STATUS_UNEXPECTED_STATE);
}

tl::unexpected<Error> Client::lost(int status) const {
  return failure({ErrorKind::kUnavailable, "R310",
                  fmt::format("the connection to the RabbitMQ broker at {} was lost: {}", place_,
                              amqp_error_string2(status)),
                  "look at the broker and its log"});
}

}  // namespace semel::rabbitmq
