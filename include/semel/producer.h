// Producer: sends messages to where a consumer reads them, and reports how each ended.
//
//   semel::Producer producer(semel::KafkaTopic{.brokers = "a:9092,b:9092", .topic = "orders"});
//   semel::OutgoingMessage order;
//   order.payload = body;
//   auto sent = producer.send(order);
//   if (!sent && sent.error().kind == semel::ErrorKind::kInDoubt) order.key = sent.error().key;
//
// Each message keeps one key in all its attempts, so that a consumer with a record has its effect
// once, however often it arrives. It is the key given with the message, or else the one found where
// the consumer's `key: auto` looks (a CloudEvent, Idempotency-Key, webhook-id), or else a new one
// (Key::random).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <semel/message.h>
#include <semel/outgoing_message.h>
#include <semel/result.h>
#include <semel/spi/store.h>

namespace semel {

// Sent by an idempotent producer with acks=all. The key is the header Idempotency-Key, and also the
// record's own key where `record_key` is empty.
struct KafkaTopic {
  std::string brokers;  // host:port,host:port
  std::string topic;
  std::map<std::string, std::string> properties{};  // librdkafka's own names, passed through
  // Returns the record's own key: records with one key are in one partition. nullopt: the record
  // has none. Called from the thread that sends; an exception it throws is a final error.
  std::function<std::optional<Bytes>(const Message&)> record_key{};
};

// Persistent and mandatory, with publisher confirms. The key is the message-id.
struct RabbitmqRoute {
  std::string url;         // amqp://user:password@host:port/vhost, amqps:// with TLS
  std::string exchange{};  // empty: the default one, whose routing keys are names of queues
  std::string routing_key;
  std::string tls_ca{}, tls_cert{}, tls_key{};  // PEM files; no CA: the system's are trusted
};

// An entry of a stream, whose fields are the message's headers and its payload. The key is the
// field Idempotency-Key. A stream that is not there is a final error.
struct RedisStreamTarget {
  std::string url;  // redis://user:password@host:port/0, rediss:// with TLS; nodes of a Cluster too
  std::string stream;
  std::string payload{"payload"};  // the field that is the payload
};

// A message that a JetStream stream stores. The key is the header Idempotency-Key. The stream drops
// a second message with the same subject, key and payload within its duplicate window.
struct NatsSubject {
  std::string url;  // nats://user:password@host:port, tls:// with TLS; nodes of one cluster too
  std::string subject;
  std::string token{};                          // in place of user and password
  std::string credentials{};                    // a file with a user's JWT and its seed
  std::string tls_ca{}, tls_cert{}, tls_key{};  // PEM files; no CA: the system's are trusted
};

// A message of a queue of SQS. The key is the message attribute Idempotency-Key. A FIFO queue drops
// what comes again with this key and payload within its deduplication interval.
struct SqsQueue {
  std::string url;       // https://sqs.eu-west-1.amazonaws.com/123456789012/orders
  std::string region{};  // empty: what the URL's host names
  // An access key; without an id credentials are looked for where Amazon's own tools look.
  std::string access_key_id{}, secret_access_key{}, session_token{};
  std::string profile{};  // of the shared files
  std::string ca_file{};  // PEM: trusted in place of the system's
  // FIFO: the group that a message keeps its order in. Nothing, or no function: a group of its own.
  // Called from the thread that sends; what it throws is a final error.
  std::function<std::optional<Bytes>(const Message&)> group_of{};
};

// A message of a topic of SNS, for all of its subscribers. The key is the message attribute
// Idempotency-Key. A FIFO topic drops as a FIFO queue does.
struct SnsTopic {
  std::string arn;         // arn:aws:sns:eu-west-1:123456789012:orders
  std::string endpoint{};  // empty: Amazon's own, in the topic's region
  std::string access_key_id{}, secret_access_key{}, session_token{};  // as of SqsQueue
  std::string profile{};
  std::string ca_file{};
  std::function<std::optional<Bytes>(const Message&)> group_of{};  // as of SqsQueue
};

// A call of an endpoint, as the HTTP handler makes it. The key is the header Idempotency-Key. The
// message's headers are sent, and its type as ce-type. A header that could not arrive as it is
// gives a final error: its name belongs to the connection, to Semel or to `headers`, or its value
// is not printable ASCII (values of ce-… are percent-encoded).
struct HttpEndpoint {
  std::string url;
  std::string method{"POST"};
  Headers headers{};                           // sent with every call
  std::chrono::milliseconds timeout{10'000};   // of one call, to the answer's last byte
  bool bare_key = false;                       // the key without the quotes of the standard
  std::vector<std::string> signing_secrets{};  // whsec_…; each of them signs every call
  std::string ca_file{};                       // PEM: trusted in place of the system's
  std::string sender{"producer"};              // header semel-consumer, and a part of webhook-id
  std::size_t longest_answer = std::size_t{1} << 20;  // bytes of its body
};

// The queue of a consumer in a config: a row of its store, durable when it is confirmed. A message
// without a key gets the one that the consumer's recipe finds in it, if any.
struct ConsumerQueue {
  std::string config_file;
  std::string consumer;
  // The config's store where it is open already, borrowed; null: the producer opens one.
  Store* store = nullptr;
};

struct ProducerOptions {
  // The limit of one `send`, over all its attempts. An attempt that runs then may take up to a
  // second more; one into a ConsumerQueue as long as its store waits for a lock, such as five
  // seconds on SQLite.
  std::chrono::milliseconds time_limit{30'000};
  // Between two attempts: doubled each time, up to the longest, and spread by chance. An endpoint
  // that asks for a longer pause (Retry-After) is obeyed.
  std::chrono::milliseconds first_pause{100};
  std::chrono::milliseconds longest_pause{5'000};
};

// Confirmed: the destination has it, as durably as it keeps anything.
struct Sent {
  Bytes key;
  // Kafka: topic-partition-offset; Redis: stream-id; NATS: stream-sequence; SQS and SNS: their
  // id of the message; HTTP: the answer's body; else empty.
  Bytes answer;
};

// Not confirmed. The kind says what may be done:
//   kInDoubt      it may have arrived: send it again with this key (R330)
//   kUnavailable  it did not arrive within the time limit: the same (R331)
//   kRejected, kLimit  it did not arrive, and the same message will not: there is no such topic,
//                 queue or endpoint, no right to write, it is too large, … (R332)
struct SendError : Error {
  Bytes key;           // under which it was sent; empty where it had none and got none
  std::string reason;  // of the last attempt, from semel::reason; may be empty
};

using SendResult = tl::expected<Sent, SendError>;

// Thread-safe. Its threads end with it: do not destroy it while it sends. A child of fork() needs a
// producer of its own.
class Producer {
 public:
  // Contacts no broker or endpoint. Throws SemelError for settings that cannot be used (R255, R259,
  // R308), and for a queue whose config or store cannot be opened.
  explicit Producer(KafkaTopic to, ProducerOptions options = {});
  explicit Producer(RabbitmqRoute to, ProducerOptions options = {});
  explicit Producer(RedisStreamTarget to, ProducerOptions options = {});
  explicit Producer(NatsSubject to, ProducerOptions options = {});
  explicit Producer(SqsQueue to, ProducerOptions options = {});
  explicit Producer(SnsTopic to, ProducerOptions options = {});
  explicit Producer(HttpEndpoint to, ProducerOptions options = {});
  explicit Producer(const ConsumerQueue& to, ProducerOptions options = {});
  ~Producer();
  Producer(Producer&&) noexcept;
  Producer& operator=(Producer&&) noexcept;

  // Returns when the message is confirmed, when it is known that it will not be, or at the time
  // limit. OutgoingMessage::delay is for queues alone.
  SendResult send(const OutgoingMessage& message);
  // Sends many at a time, which costs little more than one: a result for each, in the same order.
  // Messages that need a second attempt may arrive after later ones.
  [[nodiscard]] std::vector<SendResult> send(std::span<const OutgoingMessage> messages);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace semel
