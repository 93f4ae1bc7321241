// ConsumerOptions: a consumer of a Runner, given in code: its source, its key and its handler.
//
// It has the options of a consumer in a config file (docs/config.md), with the same defaults, and
// is checked by the same code. An option without a member here goes into `settings`, by its path.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <semel/bytes.h>
#include <semel/handler.h>
#include <semel/memory.h>
#include <semel/mysql.h>
#include <semel/postgres.h>
#include <semel/redis.h>
#include <semel/result.h>
#include <semel/spi/delivery.h>
#include <semel/spi/source.h>
#include <semel/sqlite.h>
#include <semel/step_spec.h>

namespace semel {

// Finds a message's key where no recipe of a config can; nullopt: the message has none. Called from
// a thread of the runner, for each consumer one message at a time: consumers that share it call it
// at the same time. A throw makes the message a dead letter (key.invalid).
using KeyFunction = std::function<std::optional<Bytes>(const Arrival&)>;

// Paths of a config with their values: {{"retry.attempts", "3"}, {"order.key", "json:/account"}}. A
// value is text, as `--set` takes it: one that begins with { or [ is read as YAML. The items of a
// list are `publish[0]`, `publish[1]`, or one text with commas.
using ConfigValues = std::vector<std::pair<std::string, std::string>>;

// The queue in the store itself.
struct FromQueue {};
// Lines of a file, followed as it grows.
struct FromFile {
  std::string path;
};
// Lines of standard input.
struct FromStdin {};
// Topics of a Kafka cluster, read as a member of a consumer group.
struct FromKafka {
  std::string brokers;  // "host:9092,host:9092"
  std::string group;
  std::vector<std::string> topics;
};
// A durable consumer of a NATS JetStream stream.
struct FromNats {
  std::string url;  // "nats://user:password@host:4222"
  std::string stream;
  std::string durable;
};
// A queue of a RabbitMQ broker.
struct FromRabbitmq {
  std::string url;  // "amqp://user:password@host:5672/vhost"
  std::string queue;
};
// A stream of a Redis server or Cluster, read as a member of a consumer group.
struct FromRedisStream {
  std::string url;  // "redis://user:password@host:6379/0"
  std::string stream;
  std::string group;
};
// A queue of Amazon SQS, or of a server that speaks its JSON protocol.
struct FromSqs {
  std::string queue_url;  // "https://sqs.eu-west-1.amazonaws.com/123456789012/orders"
};
// Requests to a listener of the consumer's own: each is a message, and its answer says how that
// ended.
struct FromHttp {
  std::string listen;  // "127.0.0.1:8080"
  std::string path{};  // empty: the default of a config
};

struct SourceRequest {
  // False: the run ends by itself (Runner::once). The source then reports Received::at_end when
  // everything that is there now has been received.
  bool follow = true;
};
// Makes a source, which the runner owns: it is closed and destroyed before `run` returns. Called
// from a thread of the runner, for each of its consumers: once when a run begins, and again when
// that consumer was drained and is resumed, after the previous source is gone. Consumers that name
// one source (Runner::source) call its factory one after the other; those that were each given a
// copy may call theirs at the same time. Objects it refers to must outlive the run. An Error at the
// start of a run prevents the run; later, the call is repeated until it succeeds. Must not throw.
using SourceFactory = std::function<Result<std::unique_ptr<Source>>(const SourceRequest&)>;

// A source of your own, which implements semel/spi/source.h.
struct FromOwn {
  // Equal to Source::traits of each source, except `ends`, which may differ with
  // SourceRequest::follow. `in_store` must be false. `name` is used after the run too: use a
  // literal.
  SourceTraits traits;
  SourceFactory make;
};
using ConsumerSource = std::variant<FromQueue, FromFile, FromStdin, FromKafka, FromNats,
                                    FromRabbitmq, FromRedisStream, FromSqs, FromHttp, FromOwn>;

struct ConsumerOptions {
  std::string name;  // [a-z][a-z0-9_-]{0,62}; the first half of the key of every record
  ConsumerSource source{};
  // Where the key is found, as `key: { from: […] }` has it: "json:/id", "header:X". Empty: auto, or
  // `key_function` where there is one.
  std::vector<std::string> key{};
  KeyFunction key_function{};
  std::string strategy{};  // by its name; empty: chosen by the handler
  // The work. A callable of (Message) alone needs make_handler. Empty: `settings` names a handler,
  // as {"handler.http.url", "https://…"}.
  Handler handler{};
  ApplyHandler apply{};              // the second part of a two-part handler
  std::optional<StepSpecs> steps{};  // the steps that the handler has
  ConfigValues settings{};           // every other option, by its path in the consumer
};

// A store that the runner opens, and closes when `run` returns.
using RunnerStore =
    std::variant<SqliteOptions, PostgresOptions, MySqlOptions, RedisOptions, MemoryOptions>;

}  // namespace semel
