#include "clients/rabbitmq/connection.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <fmt/format.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <utility>

#include "clients/rabbitmq/amqp_values.h"
#include "clients/rabbitmq/tls.h"
#include "system/descriptor_limit.h"

namespace semel::rabbitmq {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// One channel for the work, and one for questions whose answer may close the channel.
constexpr int kMostChannels = 2;
constexpr int kFrameMax = 131'072;
constexpr seconds kConnectPatience{5};
constexpr seconds kAnswerPatience{10};

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

Connection::Connection(const core::RabbitmqAccess& access, bool known)
    : access_(access), known_(known), connection_(amqp_new_connection()) {}

Result<void> Connection::use_tls() {
  amqp_socket_t* const socket = amqp_ssl_socket_new(connection_.get());
  if (socket == nullptr) return failure(bad_file("OpenSSL cannot begin"));
  amqp_ssl_socket_set_verify_peer(socket, 1);
  amqp_ssl_socket_set_verify_hostname(socket, 1);
  amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST);
  if (access_.tls_ca.empty()) {
    if (!trust_the_system(amqp_ssl_socket_get_context(socket))) {
      return failure(bad_file("the system has no trusted CA: name one"));
    }
  } else if (amqp_ssl_socket_set_cacert(socket, access_.tls_ca.c_str()) != AMQP_STATUS_OK) {
    return failure(bad_file(fmt::format("{} is not a file of certificates", access_.tls_ca)));
  }
  if (!access_.tls_cert.empty() &&
      amqp_ssl_socket_set_key(socket, access_.tls_cert.c_str(), access_.tls_key.c_str()) !=
          AMQP_STATUS_OK) {
    return failure(bad_file(fmt::format("{} and {} are not a certificate and its key",
                                        access_.tls_cert, access_.tls_key)));
  }
  return {};
}

Result<void> Connection::open(const core::RabbitmqNode& node) {
  place_ = fmt::format("{}:{}", node.host, node.port);
  if (access_.address.tls) {
    if (auto ready = use_tls(); !ready) return ready;
  } else {
    amqp_tcp_socket_new(connection_.get());
  }
  const timeval connect = time_of(kConnectPatience);
  const timeval answer = time_of(kAnswerPatience);
  amqp_set_handshake_timeout(connection_.get(), &connect);
  amqp_set_rpc_timeout(connection_.get(), &answer);
  forget_handshakes();
  int status = amqp_socket_open_noblock(amqp_get_socket(connection_.get()), node.host.c_str(),
                                        static_cast<int>(node.port), &connect);
  if (status == AMQP_STATUS_OK) return {};
  if (auto none = system::descriptor_limit_now(place_)) return failure(*std::move(none));
  if (status == AMQP_STATUS_SSL_CONNECTION_FAILED && was_hung_up_on()) {
    status = AMQP_STATUS_CONNECTION_CLOSED;
  }
  return failure(status_error(status, place_, access_.address.tls, known_));
}

Result<void> Connection::login() {
  // Without these capabilities the broker would not report that a queue was deleted or that its
  // resources run low.
  std::array capabilities = {flag("consumer_cancel_notify"), flag("connection.blocked")};
  std::array properties = {text("product", "Semel"), amqp_table_entry_t{}};
  properties[1].key = amqp_cstring_bytes("capabilities");
  properties[1].value.kind = AMQP_FIELD_KIND_TABLE;
  properties[1].value.value.table = {static_cast<int>(capabilities.size()), capabilities.data()};
  const amqp_table_t table{static_cast<int>(properties.size()), properties.data()};
  const core::RabbitmqAddress& address = access_.address;
  const auto reply = amqp_login_with_properties(
      connection_.get(), address.vhost.c_str(), kMostChannels, kFrameMax,
      static_cast<int>(access_.heartbeat.count()), &table, AMQP_SASL_METHOD_PLAIN,
      address.user.c_str(), address.password.c_str());
  if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION) {
    return failure(status_error(reply.library_error, place_, address.tls, known_));
  }
  return checked(reply, Step::kConnect);
}

Result<void> Connection::open_channel(std::uint16_t channel) {
  amqp_channel_open(connection_.get(), channel);
  return checked(amqp_get_rpc_reply(connection_.get()), Step::kConnect);
}

int Connection::descriptor() const noexcept { return amqp_get_sockfd(connection_.get()); }

milliseconds Connection::patience() const noexcept {
  // A part of the heartbeat interval that both sides have agreed on; each side must send within
  // half of it.
  const milliseconds heartbeat = seconds(amqp_get_heartbeat(connection_.get()));
  return heartbeat.count() == 0 ? milliseconds(seconds(5)) : heartbeat / 4;
}

bool Connection::has_more() const noexcept {
  return amqp_frames_enqueued(connection_.get()) != 0 ||
         amqp_data_in_buffer(connection_.get()) != 0;
}

Result<void> Connection::read(std::size_t frames, const Take& take) {
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

void Connection::set_answer_deadline(Deadline deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
  const timeval answer = time_of(std::max(left, milliseconds(1)));
  amqp_set_rpc_timeout(connection_.get(), &answer);
}

Result<void> Connection::close(Deadline deadline) {
  set_answer_deadline(deadline);
  // The broker reads the frames of one channel in order.
  auto closed =
      checked(amqp_channel_close(connection_.get(), kChannel, AMQP_REPLY_SUCCESS), Step::kConsume);
  if (closed) (void)amqp_connection_close(connection_.get(), AMQP_REPLY_SUCCESS);
  return closed;
}

Result<void> Connection::checked(const amqp_rpc_reply_t_& reply, Step step) const {
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) return {};
  if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION) return refused(reply.reply, step);
  return lost(reply.library_error);
}

Result<void> Connection::sent(int status) const {
  if (status == AMQP_STATUS_OK) return {};
  return lost(status);
}

tl::unexpected<Error> Connection::refused(const amqp_method_t_& method, Step step) const {
  if (method.id == AMQP_CHANNEL_CLOSE_METHOD) {
    const auto* const said = static_cast<const amqp_channel_close_t*>(method.decoded);
    return failure(refusal_of(said->reply_code, view_of(said->reply_text), step, known_));
  }
  if (method.id == AMQP_CONNECTION_CLOSE_METHOD) {
    const auto* const said = static_cast<const amqp_connection_close_t*>(method.decoded);
    return failure(refusal_of(said->reply_code, view_of(said->reply_text), step, known_));
  }
  return lost(AMQP_STATUS_UNEXPECTED_STATE);
}

tl::unexpected<Error> Connection::lost(int status) const {
  return failure({ErrorKind::kUnavailable, "R310",
                  fmt::format("the connection to the RabbitMQ broker at {} was lost: {}", place_,
                              amqp_error_string2(status)),
                  "look at the broker and its log"});
}

}  // namespace semel::rabbitmq
