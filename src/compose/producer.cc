#include <semel/producer.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <semel/environment.h>
#include <semel/queues.h>
#include <semel/spi/held_messages.h>

#include "compose/compose.h"
#include "handlers/http/http_handler.h"
#include "handlers/kafka/make_kafka_publisher.h"
#include "handlers/nats/make_nats_publisher.h"
#include "handlers/rabbitmq/make_rabbitmq_publisher.h"
#include "handlers/redis_streams/make_redis_streams_publisher.h"
#include "handlers/sqs/make_sns_publisher.h"
#include "handlers/sqs/make_sqs_publisher.h"
#include "producer/http_flaw.h"
#include "producer/sender.h"

namespace semel {

namespace {

using producer::KeyRules;
using std::chrono::milliseconds;

// Concurrent sends: many for librdkafka and for a broker's confirms, few for an endpoint.
constexpr std::size_t kRecordsAtATime = 10'000;
constexpr std::size_t kConfirmsAtATime = 1'000;
constexpr std::size_t kSendsAtATime = 64;
// librdkafka checks for timeouts only periodically.
constexpr milliseconds kReportBefore{2'000};

template <class T>
T taken(Result<T> made) {
  if (!made) throw SemelError(std::move(made.error()));
  return *std::move(made);
}

Error no_place(std::string message, std::string hint) {
  return {ErrorKind::kRejected, "R255", std::move(message), std::move(hint)};
}

void check_options(const ProducerOptions& options) {
  if (options.time_limit.count() > 0 && options.first_pause.count() > 0) return;
  throw SemelError(
      no_place("a producer's time_limit and first_pause are more than 0", "time_limit: 30s"));
}

core::KafkaPublishSpec spec_of(KafkaTopic to, const ProducerOptions& options) {
  // Callers that wait for an answer learn of a missing topic sooner.
  constexpr const char* kTopicPatience = "topic.metadata.propagation.max.ms";
  core::KafkaPublishSpec spec;
  spec.brokers = std::move(to.brokers);
  spec.topic = std::move(to.topic);
  spec.properties = std::move(to.properties);
  spec.properties.try_emplace(kTopicPatience, "5000");
  spec.key_of = std::move(to.record_key);
  // librdkafka retries by itself without duplicates. It reports before the time limit ends.
  spec.timeout = std::max(options.time_limit - kReportBefore, options.time_limit / 2);
  return spec;
}

core::RabbitmqPublishSpec spec_of(RabbitmqRoute to, const ProducerOptions& options) {
  auto address = core::read_amqp_url(to.url);
  if (!address) {
    throw SemelError(
        no_place("the URL " + address.error(), "url: amqp://user:password@host/vhost"));
  }
  core::RabbitmqPublishSpec spec;
  spec.address = *std::move(address);
  spec.tls_ca = std::move(to.tls_ca);
  spec.tls_cert = std::move(to.tls_cert);
  spec.tls_key = std::move(to.tls_key);
  spec.route = {std::move(to.exchange), std::move(to.routing_key)};
  spec.timeout = options.time_limit;
  return spec;
}

core::RedisStreamsPublishSpec spec_of(RedisStreamTarget to, const ProducerOptions& options) {
  core::RedisStreamsPublishSpec spec;
  spec.url = std::move(to.url);
  spec.stream = std::move(to.stream);
  spec.payload = std::move(to.payload);
  spec.timeout = options.time_limit;
  return spec;
}

core::NatsPublishSpec spec_of(NatsSubject to, const ProducerOptions& options) {
  auto address = core::read_nats_url(to.url);
  if (!address) {
    throw SemelError(no_place("the URL " + address.error(), "url: nats://user:password@host:4222"));
  }
  core::NatsPublishSpec spec;
  spec.address = *std::move(address);
  spec.token = std::move(to.token);
  spec.credentials = std::move(to.credentials);
  spec.tls_ca = std::move(to.tls_ca);
  spec.tls_cert = std::move(to.tls_cert);
  spec.tls_key = std::move(to.tls_key);
  spec.subject = std::move(to.subject);
  spec.timeout = options.time_limit;
  return spec;
}

template <class To>
void take_sqs_access(To& to, const ProducerOptions& options, core::SqsSendSpec& spec) {
  spec.keys = {std::move(to.access_key_id), std::move(to.secret_access_key),
               std::move(to.session_token)};
  spec.profile = std::move(to.profile);
  spec.ca_file = std::move(to.ca_file);
  spec.group_of = std::move(to.group_of);
  spec.timeout = options.time_limit;
}

core::SqsPublishSpec spec_of(SqsQueue to, const ProducerOptions& options) {
  auto queue = core::read_sqs_url(to.url);
  if (!queue) {
    throw SemelError(no_place("the URL " + queue.error(),
                              "url: https://sqs.eu-west-1.amazonaws.com/123456789012/orders"));
  }
  core::SqsPublishSpec spec;
  spec.region = to.region.empty() ? queue->region : std::move(to.region);
  spec.queue = *std::move(queue);
  take_sqs_access(to, options, spec);
  return spec;
}

core::SnsPublishSpec spec_of(SnsTopic to, const ProducerOptions& options) {
  auto topic = core::read_sns_topic(to.arn, to.endpoint);
  if (!topic) {
    throw SemelError(no_place(
        (topic.error().of_the_endpoint ? "the endpoint " : "the topic ") + topic.error().why,
        "arn: arn:aws:sns:eu-west-1:123456789012:orders"));
  }
  core::SnsPublishSpec spec;
  spec.region = topic->region;
  spec.queue = *std::move(topic);
  take_sqs_access(to, options, spec);
  return spec;
}

core::HttpSpec spec_of(HttpEndpoint to) {
  using Style = core::HttpSpec::KeyStyle;
  core::HttpSpec spec;
  spec.consumer = std::move(to.sender);
  spec.source = "producer";
  spec.url = std::move(to.url);
  spec.method = std::move(to.method);
  spec.timeout = to.timeout;
  spec.headers = std::move(to.headers);
  spec.key_style = to.bare_key ? Style::kBare : Style::kQuoted;
  spec.signing_secrets = std::move(to.signing_secrets);
  spec.ca_file = std::move(to.ca_file);
  spec.response_limit = to.longest_answer;
  spec.failure_is_doubt = true;
  spec.every_header = true;
  return spec;
}

// The rules for a producer's keys. `id_header`: the header by which the broker recognises a
// message, if it has one.
KeyRules rules_for(std::optional<std::string> (*flaw)(BytesView key), std::string id_header = {}) {
  KeyRules rules;
  rules.recipe = producer::auto_recipe();
  rules.id_header = std::move(id_header);
  rules.flaw = flaw;
  return rules;
}

const config::ConsumerConfig& queue_of(const config::Config& config, const ConsumerQueue& to) {
  const auto* consumer = config.find(to.consumer);
  if (consumer == nullptr) {
    throw SemelError(
        no_place(fmt::format("there is no consumer \"{}\" in {}", to.consumer, to.config_file),
                 "give the name of one whose source is the queue"));
  }
  if (!std::holds_alternative<config::QueueSource>(consumer->source)) {
    throw SemelError(no_place(
        fmt::format("consumer \"{}\" in {} does not read a queue", to.consumer, to.config_file),
        "source: { queue: {} }; or send to where it reads from"));
  }
  return *consumer;
}

}  // namespace

Result<Queues> queues_of(Store& store, const std::string& config_file) {
  try {
    const config::Config config = compose::loaded_or_throw(config::load_file(config_file));
    Queues queues;
    for (const config::ConsumerConfig& consumer : config.consumers) {
      if (!std::holds_alternative<config::QueueSource>(consumer.source)) continue;
      queues.emplace(consumer.name, taken(compose::attach(store, consumer)));
    }
    return queues;
  } catch (const SemelError& refused) {
    return failure(refused.error());
  }
}

class Producer::Impl {
 public:
  Impl(producer::Try attempt, KeyRules rules, const ProducerOptions& options,
       std::unique_ptr<Store> opened = nullptr)
      : store_(std::move(opened)),
        sender_(std::move(attempt), std::move(rules), options, system_environment()) {}
  // Throws the handler's error.
  Impl(Result<AsyncHandler> handler, std::size_t at_a_time, KeyRules rules,
       const ProducerOptions& options)
      : Impl(producer::try_by(taken(std::move(handler)), at_a_time), std::move(rules), options) {}

  std::vector<SendResult> send(std::span<const OutgoingMessage> messages) const {
    return sender_.send(messages);
  }

 private:
  std::unique_ptr<Store> store_;  // null if the producer has no store of its own
  producer::Sender sender_;
};

Producer::Producer(KafkaTopic to, ProducerOptions options) {
  check_options(options);
  impl_ = std::make_unique<Impl>(kafka::make_kafka_publisher(spec_of(std::move(to), options)),
                                 kRecordsAtATime, rules_for(&producer::header_key_flaw), options);
}

Producer::Producer(RabbitmqRoute to, ProducerOptions options) {
  check_options(options);
  impl_ = std::make_unique<Impl>(rabbitmq::make_rabbitmq_publisher(spec_of(std::move(to), options)),
                                 kConfirmsAtATime,
                                 rules_for(&producer::message_id_flaw, "amqp-message-id"), options);
}

Producer::Producer(RedisStreamTarget to, ProducerOptions options) {
  check_options(options);
  impl_ = std::make_unique<Impl>(
      redis_streams::make_redis_streams_publisher(spec_of(std::move(to), options)),
      kConfirmsAtATime, rules_for(&producer::header_key_flaw), options);
}

Producer::Producer(NatsSubject to, ProducerOptions options) {
  check_options(options);
  impl_ = std::make_unique<Impl>(nats::make_nats_publisher(spec_of(std::move(to), options)),
                                 kConfirmsAtATime,
                                 rules_for(&producer::nats_id_flaw, "Nats-Msg-Id"), options);
}

Producer::Producer(SqsQueue to, ProducerOptions options) {
  check_options(options);
  impl_ = std::make_unique<Impl>(sqs::make_sqs_publisher(spec_of(std::move(to), options)),
                                 kConfirmsAtATime, rules_for(&producer::header_key_flaw), options);
}

Producer::Producer(SnsTopic to, ProducerOptions options) {
  check_options(options);
  impl_ = std::make_unique<Impl>(sqs::make_sns_publisher(spec_of(std::move(to), options)),
                                 kConfirmsAtATime, rules_for(&producer::header_key_flaw), options);
}

Producer::Producer(HttpEndpoint to, ProducerOptions options) {
  check_options(options);
  core::HttpSpec spec = spec_of(std::move(to));
  KeyRules rules = rules_for(nullptr);
  rules.message_flaw = [spec](const OutgoingMessage& message) {
    return producer::http_flaw(message, spec);
  };
  impl_ = std::make_unique<Impl>(handlers::make_http_handler(std::move(spec), system_environment()),
                                 kSendsAtATime, std::move(rules), options);
}

Producer::Producer(const ConsumerQueue& to, ProducerOptions options) {
  check_options(options);
  const config::Config config = compose::loaded_or_throw(config::load_file(to.config_file));
  const config::ConsumerConfig& consumer = queue_of(config, to);
  std::unique_ptr<Store> opened;
  if (to.store == nullptr) {
    opened = taken(compose::open_store(config.store, {.create = true}));
  }
  Store& store = opened ? *opened : *to.store;
  if (store.facets().held == nullptr) throw SemelError(compose::no_messages(store));
  const ConsumerNumber number = taken(compose::attach(store, consumer));
  KeyRules rules;
  rules.recipe = consumer.key;
  rules.given_first = true;
  rules.delays = true;
  impl_ = std::make_unique<Impl>(producer::try_by(*store.facets().held, number), std::move(rules),
                                 options, std::move(opened));
}

Producer::~Producer() = default;
Producer::Producer(Producer&&) noexcept = default;
Producer& Producer::operator=(Producer&&) noexcept = default;

SendResult Producer::send(const OutgoingMessage& message) {
  return std::move(impl_->send({&message, 1}).front());
}

std::vector<SendResult> Producer::send(std::span<const OutgoingMessage> messages) {
  return impl_->send(messages);
}

}  // namespace semel
