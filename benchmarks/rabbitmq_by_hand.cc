#include "benchmarks/rabbitmq_by_hand.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_tcp_socket.h>

#include <memory>

#include "benchmarks/measure.h"

namespace semel::bench {
namespace {

constexpr amqp_channel_t kChannel = 1;
constexpr std::size_t kAckEvery = 100;
constexpr int kPatienceSeconds = 20;

struct Destroyed {
  void operator()(amqp_connection_state_t_* connection) const {
    amqp_destroy_connection(connection);
  }
};

struct Envelope : amqp_envelope_t {
  Envelope() : amqp_envelope_t{} {}
  ~Envelope() { amqp_destroy_envelope(this); }
  Envelope(const Envelope&) = delete;
  Envelope& operator=(const Envelope&) = delete;
};

// A consumer of one queue on a connection of its own.
class HandConsumer {
 public:
  explicit HandConsumer(const Queue& queue) : connection_(amqp_new_connection()) {
    amqp_socket_t* const socket = amqp_tcp_socket_new(get());
    if (amqp_socket_open(socket, "127.0.0.1", queue.port) != AMQP_STATUS_OK) {
      give_up("no RabbitMQ answers");
    }
    check(amqp_login(get(), "/", 0, 131'072, 0, AMQP_SASL_METHOD_PLAIN, "owner", "right"));
    amqp_channel_open(get(), kChannel);
    check(amqp_get_rpc_reply(get()));
    amqp_basic_qos(get(), kChannel, 0, kPrefetch, 0);
    check(amqp_get_rpc_reply(get()));
    amqp_basic_consume(get(), kChannel, amqp_cstring_bytes(queue.name.c_str()), amqp_empty_bytes, 0,
                       0, 0, amqp_empty_table);
    check(amqp_get_rpc_reply(get()));
  }

  void next(Envelope& into) {
    amqp_maybe_release_buffers(get());
    const timeval patience{kPatienceSeconds, 0};
    check(amqp_consume_message(get(), &into, &patience, 0));
  }
  void ack(const Envelope& last, bool multiple) {
    if (amqp_basic_ack(get(), kChannel, last.delivery_tag, multiple ? 1 : 0) != AMQP_STATUS_OK) {
      give_up("an acknowledgement cannot be sent");
    }
  }
  // When it returns the broker has read all acknowledgements.
  void close() { check(amqp_channel_close(get(), kChannel, AMQP_REPLY_SUCCESS)); }

 private:
  amqp_connection_state_t get() const { return connection_.get(); }
  static void check(const amqp_rpc_reply_t& reply) {
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) return;
    give_up(reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION
                ? amqp_error_string2(reply.library_error)
                : "the broker refuses");
  }

  std::unique_ptr<amqp_connection_state_t_, Destroyed> connection_;
};

}  // namespace

double consume_by_hand(const Queue& queue) {
  HandConsumer consumer(queue);
  std::size_t bytes = 0;
  const auto take = [&](bool ack) {
    Envelope envelope;
    consumer.next(envelope);
    bytes += envelope.message.body.len;
    if (ack) consumer.ack(envelope, true);
  };
  take(false);
  const Stopwatch watch;
  for (std::size_t i = 2; i <= queue.messages; ++i) {
    take(i % kAckEvery == 0 || i == queue.messages);
  }
  const double seconds = watch.seconds();
  consumer.close();
  if (bytes == 0) give_up("the messages are empty");
  return static_cast<double>(queue.messages) / seconds;
}

double consume_naively(const Queue& queue, const std::function<void(const std::string&)>& handle) {
  HandConsumer consumer(queue);
  const Stopwatch watch;
  for (std::size_t i = 0; i < queue.messages; ++i) {
    Envelope envelope;
    consumer.next(envelope);
    const amqp_bytes_t& body = envelope.message.body;
    handle(std::string(static_cast<const char*>(body.bytes), body.len));
    consumer.ack(envelope, false);
  }
  const double seconds = watch.seconds();
  consumer.close();
  return static_cast<double>(queue.messages) / seconds;
}

}  // namespace semel::bench
