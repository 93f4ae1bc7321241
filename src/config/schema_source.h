// The schema of `source:`.
#pragma once

#include "config/member.h"
#include "config/schema.h"
#include "config/schema_tls.h"
#include "config/schema_units.h"
#include "core/file_spec.h"
#include "core/http_source_spec.h"
#include "core/kafka_spec.h"
#include "core/nats_spec.h"
#include "core/rabbitmq_spec.h"
#include "core/redis_streams_spec.h"
#include "core/sqs_spec.h"

namespace semel::config {

inline constexpr Field kFileFields[] = {
    {.name = "path",
     .shape = Shape::kPath,
     .meaning = "A file with one JSON document a line.",
     .member = &kMember<&core::FileSpec::path>,
     .required = true},
    {.name = "from",
     .shape = Shape::kWord,
     .meaning = "Where reading begins: where this consumer got to before, or the first line.",
     .member = &kMember<&core::FileSpec::from>,
     .words = "kept|start"},
};

inline constexpr Field kTopicField[] = {{.name = "", .shape = Shape::kText, .meaning = ""}};
inline constexpr Field kPropertyField[] = {{.name = "", .shape = Shape::kText, .meaning = ""}};

inline constexpr Field kKafkaFields[] = {
    {.name = "brokers",
     .shape = Shape::kText,
     .meaning = "Some of the cluster's brokers: `host:9092,host:9092`.",
     .member = &kMember<&core::KafkaSpec::brokers>,
     .required = true,
     .look = "\"a:9092,b:9092\""},
    {.name = "group",
     .shape = Shape::kText,
     .meaning = "The consumer group: its members share the partitions.",
     .member = &kMember<&core::KafkaSpec::group>,
     .required = true},
    {.name = "topics",
     .shape = Shape::kList,
     .meaning = "What is read, each by its name.",
     .fields = kTopicField,
     .required = true,
     .comma = true},
    {.name = "from",
     .shape = Shape::kWord,
     .meaning = "Where a group begins that has no offset, or whose offset is gone: the first "
                "message there is, after the last one, or not at all (R307).",
     .member = &kMember<&core::KafkaSpec::from>,
     .words = "earliest|latest|fail"},
    {.name = "properties",
     .shape = Shape::kDictionary,
     .meaning = "librdkafka's own settings, passed through: `security.protocol: sasl_ssl`. What "
                "would break the promise is refused (E027).",
     .fields = kPropertyField},
};

inline constexpr Field kNatsTlsFields[] = {
    {.name = "ca",
     .shape = Shape::kPath,
     .meaning = "Who is trusted to vouch for the server: a file in PEM format. Without it those "
                "that the system trusts.",
     .member = &kMember<&core::NatsAccess::tls_ca>},
    {.name = "cert",
     .shape = Shape::kPath,
     .meaning = "Our certificate, where the server asks.",
     .member = &kMember<&core::NatsAccess::tls_cert>},
    {.name = "key",
     .shape = Shape::kPath,
     .meaning = "And its key.",
     .member = &kMember<&core::NatsAccess::tls_key>},
};

inline constexpr Field kNatsFields[] = {
    {.name = "url",
     .shape = Shape::kText,
     .meaning = "The server: `nats://user:password@host:4222`, with `tls://` over TLS; servers of "
                "one cluster with commas between. A password in it is never shown.",
     .required = true,
     .address = true},
    {.name = "stream",
     .shape = Shape::kText,
     .meaning = "The JetStream stream. It has to be there (R384).",
     .member = &kMember<&core::NatsSpec::stream>,
     .required = true},
    {.name = "durable",
     .shape = Shape::kText,
     .meaning = "The durable consumer that is pulled from: its processes share the messages.",
     .member = &kMember<&core::NatsSpec::durable>,
     .required = true},
    {.name = "prefetch",
     .shape = Shape::kInteger,
     .meaning = "The most messages that are delivered and not acknowledged: waiting here, or in a "
                "handler's hands.",
     .member = &kMember<&core::NatsSpec::prefetch>,
     .low = 1,
     .high = 65'535},
    {.name = "declare",
     .shape = Shape::kBoolean,
     .meaning = "The consumer is made where it is not there, from the first message of the stream "
                "on. Else it has to be there (R384).",
     .member = &kMember<&core::NatsSpec::declare>},
    {.name = "subject",
     .shape = Shape::kText,
     .meaning = "What `declare` makes takes only what was published to it: `orders.paid`, "
                "`orders.>`. Without it all that the stream has.",
     .member = &kMember<&core::NatsSpec::subject>},
    {.name = "ack_wait",
     .shape = Shape::kDuration,
     .meaning = "In what `declare` makes: how long after a process has died what it had in hand "
                "comes again. What is in hand is renewed.",
     .member = &kMember<&core::NatsSpec::ack_wait>,
     .low = 1'000,
     .high = 3'600'000},
    {.name = "token",
     .shape = Shape::kText,
     .meaning = "What the server asks for in place of user and password.",
     .member = &kMember<&core::NatsAccess::token>,
     .secret = true},
    {.name = "credentials",
     .shape = Shape::kPath,
     .meaning = "A file with a user's JWT and its seed, as `nsc` writes it.",
     .member = &kMember<&core::NatsAccess::credentials>},
    {.name = "tls",
     .shape = Shape::kMap,
     .meaning = "With `tls://`: the server's certificate is checked, and that it names the host.",
     .fields = kNatsTlsFields},
};

inline constexpr Field kRabbitmqTlsFields[] = {
    {.name = "ca",
     .shape = Shape::kPath,
     .meaning = "Who is trusted to vouch for the broker: a file in PEM format. Without it those "
                "that the system trusts.",
     .member = &kMember<&core::RabbitmqAccess::tls_ca>},
    {.name = "cert",
     .shape = Shape::kPath,
     .meaning = "Our certificate, where the broker asks.",
     .member = &kMember<&core::RabbitmqAccess::tls_cert>},
    {.name = "key",
     .shape = Shape::kPath,
     .meaning = "And its key.",
     .member = &kMember<&core::RabbitmqAccess::tls_key>},
};

inline constexpr Field kRabbitmqFields[] = {
    {.name = "url",
     .shape = Shape::kText,
     .meaning = "The broker and the vhost: `amqp://user:password@host:5672/vhost`, with `amqps://` "
                "over TLS; nodes of one cluster with commas between. A `/` in a vhost is `%2F`, "
                "and without one it is the vhost `/`. A password in it is never shown.",
     .required = true,
     .address = true},
    {.name = "queue",
     .shape = Shape::kText,
     .meaning = "What is consumed: a quorum queue or a classic one, and no stream.",
     .member = &kMember<&core::RabbitmqSpec::queue>,
     .required = true},
    {.name = "prefetch",
     .shape = Shape::kInteger,
     .meaning = "The most messages that are out of the queue and not acknowledged: waiting here, "
                "or in a handler's hands.",
     .member = &kMember<&core::RabbitmqSpec::prefetch>,
     .low = 1,
     .high = 65'535},
    {.name = "declare",
     .shape = Shape::kBoolean,
     .meaning = "The queue is made where it is not there: durable, of `queue_type`. Else it has "
                "to be there (R314).",
     .member = &kMember<&core::RabbitmqSpec::declare>},
    {.name = "queue_type",
     .shape = Shape::kWord,
     .meaning = "What `declare` makes.",
     .member = &kMember<&core::RabbitmqSpec::type>,
     .words = "quorum|classic"},
    {.name = "heartbeat",
     .shape = Shape::kDuration,
     .meaning = "A broker that says nothing for twice as long is taken for gone. Whole seconds; "
                "the broker may ask for less.",
     .member = &kMember<&core::RabbitmqAccess::heartbeat>,
     .low = 1'000,
     .high = 3'600'000},
    {.name = "tls",
     .shape = Shape::kMap,
     .meaning = "With `amqps://`: the broker's certificate is checked, and that it names the host.",
     .fields = kRabbitmqTlsFields},
};

inline constexpr Field kHttpSecretField[] = {
    {.name = "", .shape = Shape::kText, .meaning = "", .secret = true}};

inline constexpr Field kHttpSignatureFields[] = {
    {.name = "standard_webhooks",
     .shape = Shape::kList,
     .meaning = "Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature`, by "
                "secrets `whsec_…`. One of several is enough, so that a sender can change from one "
                "to the next.",
     .fields = kHttpSecretField,
     .alternative = true,
     .comma = true},
    {.name = "stripe",
     .shape = Shape::kList,
     .meaning = "Stripe: `Stripe-Signature`, by the endpoint's secrets `whsec_…`.",
     .fields = kHttpSecretField,
     .alternative = true,
     .comma = true},
    {.name = "github",
     .shape = Shape::kList,
     .meaning = "GitHub: `X-Hub-Signature-256`, by the webhook's secrets. It signs no time: a "
                "request that is sent again is told by its key alone.",
     .fields = kHttpSecretField,
     .alternative = true,
     .comma = true},
    {.name = "tolerance",
     .shape = Shape::kDuration,
     .meaning = "A time that was signed may be so far from now, before or after it.",
     .member = &kMember<&core::HttpSignature::tolerance>,
     .low = 1'000,
     .high = kDay},
};

inline constexpr Field kHttpSourceFields[] = {
    {.name = "listen",
     .shape = Shape::kText,
     .meaning = "Address and port, as `127.0.0.1:8080`, `[::1]:8080` or `:8080` for every "
                "interface; each consumer has its own.",
     .required = true},
    {.name = "path",
     .shape = Shape::kText,
     .meaning = "Where requests are taken; any other path is answered 404.",
     .member = &kMember<&core::HttpSourceSpec::path>},
    {.name = "path_prefix",
     .shape = Shape::kText,
     .meaning =
         "What a reverse proxy passes on before `path`, as `/hooks`: requests are taken with "
         "and without it.",
     .member = &kMember<&core::HttpSourceSpec::path_prefix>},
    {.name = "mode",
     .shape = Shape::kWord,
     .meaning = "What an answer waits for. `completed`: the record, so that 200 means done. "
                "`accepted`: the store keeps the message and it is handled from there, so that 202 "
                "means it is not lost. Default: `accepted` with `defer` and strategy `fence`, else "
                "`completed`.",
     .words = "completed|accepted"},
    {.name = "signature",
     .shape = Shape::kMap,
     .meaning = "How senders sign. What is not signed so is answered 403, and not stored. Without "
                "it anybody may send who reaches the address.",
     .fields = kHttpSignatureFields,
     .one_of = true,
     .optional = true},
    {.name = "tls",
     .shape = Shape::kMap,
     .meaning = "HTTPS in place of HTTP.",
     .fields = kListenerTlsFields,
     .optional = true},
    {.name = "timeout",
     .shape = Shape::kDuration,
     .meaning = "A request waits so long for its answer: then 503 where it was not begun, else "
                "504. Its message goes on.",
     .member = &kMember<&core::HttpSourceSpec::timeout>,
     .low = 100,
     .high = kDay},
    {.name = "receive_timeout",
     .shape = Shape::kDuration,
     .meaning = "A request that has not come whole by then is answered 408, and cut off.",
     .member = &kMember<&core::HttpSourceSpec::receive_timeout>,
     .low = 1'000,
     .high = kDay},
    {.name = "idle_timeout",
     .shape = Shape::kDuration,
     .meaning = "A connection without a request is closed after this long.",
     .member = &kMember<&core::HttpSourceSpec::idle_timeout>,
     .low = 1'000,
     .high = kDay},
    {.name = "max_connections",
     .shape = Shape::kInteger,
     .meaning = "Open connections at the most; further ones wait to be taken.",
     .member = &kMember<&core::HttpSourceSpec::max_connections>,
     .low = 1,
     .high = 100'000},
    {.name = "max_requests",
     .shape = Shape::kInteger,
     .meaning = "Requests in hand at the most, from their headers to the end of their answers, and "
                "each event of a batch as one; further ones are answered 503.",
     .member = &kMember<&core::HttpSourceSpec::max_requests>,
     .low = 1,
     .high = 100'000},
    {.name = "max_batch",
     .shape = Shape::kInteger,
     .meaning = "Events of one batch of CloudEvents at the most, and never more than "
                "`max_requests`; a larger batch is answered 413.",
     .member = &kMember<&core::HttpSourceSpec::max_batch>,
     .low = 1,
     .high = 100'000},
    {.name = "max_bytes",
     .shape = Shape::kSize,
     .meaning = "The bodies of all requests in hand; further ones are answered 503. One body may "
                "have `limits.payload`.",
     .member = &kMember<&core::HttpSourceSpec::max_bytes>,
     .low = kKiB,
     .high = 65536 * kMiB},
};

inline constexpr Field kRedisStreamsFields[] = {
    {.name = "url",
     .shape = Shape::kText,
     .meaning = "The server: `redis://user:password@host:6379/0`, with `rediss://` over TLS, as "
                "`store.redis.url` takes it; nodes of a Cluster with commas between. A password in "
                "it is never shown.",
     .member = &kMember<&core::RedisStreamsSpec::url>,
     .required = true,
     .address = true},
    {.name = "stream",
     .shape = Shape::kText,
     .meaning = "The stream that is read: its name.",
     .member = &kMember<&core::RedisStreamsSpec::stream>,
     .required = true},
    {.name = "group",
     .shape = Shape::kText,
     .meaning = "The consumer group: its members share the entries.",
     .member = &kMember<&core::RedisStreamsSpec::group>,
     .required = true},
    {.name = "consumer",
     .shape = Shape::kText,
     .meaning =
         "The name of this member of the group: each process needs its own, and has it again "
         "after a restart. Without one each run has a new name.",
     .member = &kMember<&core::RedisStreamsSpec::consumer>},
    {.name = "payload",
     .shape = Shape::kText,
     .meaning = "The field of an entry that is the payload; the others are headers. An entry "
                "without it is the JSON object of its fields.",
     .member = &kMember<&core::RedisStreamsSpec::payload>},
    {.name = "prefetch",
     .shape = Shape::kInteger,
     .meaning = "The most entries that are delivered to this member and not acknowledged: waiting "
                "here, or in a handler's hands.",
     .member = &kMember<&core::RedisStreamsSpec::prefetch>,
     .low = 1,
     .high = 65'535},
    {.name = "declare",
     .shape = Shape::kBoolean,
     .meaning =
         "The group is made where it is not there, and the stream with it. Else both have to "
         "be there (R371).",
     .member = &kMember<&core::RedisStreamsSpec::declare>},
    {.name = "from",
     .shape = Shape::kWord,
     .meaning = "Where a group begins that `declare` makes: at the first entry there is, or after "
                "the last one.",
     .member = &kMember<&core::RedisStreamsSpec::from>,
     .words = "earliest|latest"},
    {.name = "claim_after",
     .shape = Shape::kDuration,
     .meaning =
         "A member that has said nothing for so long is taken for dead, and others take over "
         "its entries. It says something as long as its process lives, unless all its "
         "handlers hang. All members of a group should have the same.",
     .member = &kMember<&core::RedisStreamsSpec::claim_after>,
     .low = 1'000,
     .high = 86'400'000},
};

inline constexpr Field kSqsCredentialFields[] = {
    {.name = "access_key_id",
     .shape = Shape::kText,
     .meaning = "Whose requests these are.",
     .member = &kMember<&core::SqsKeys::access_key_id>},
    {.name = "secret_access_key",
     .shape = Shape::kText,
     .meaning = "What they are signed with.",
     .member = &kMember<&core::SqsKeys::secret_access_key>,
     .secret = true},
    {.name = "session_token",
     .shape = Shape::kText,
     .meaning = "With keys of a session, which expire.",
     .member = &kMember<&core::SqsKeys::session_token>,
     .secret = true},
};

inline constexpr Field kSqsFields[] = {
    {.name = "queue_url",
     .shape = Shape::kText,
     .meaning = "The queue: `https://sqs.eu-west-1.amazonaws.com/123456789012/orders`, or the URL "
                "of a server that speaks SQS's JSON protocol. One that ends in `.fifo` is read in "
                "the order of its message groups.",
     .required = true},
    {.name = "region",
     .shape = Shape::kText,
     .meaning = "What requests are signed for. Without it what the host names.",
     .member = &kMember<&core::SqsAccess::region>},
    {.name = "prefetch",
     .shape = Shape::kInteger,
     .meaning = "The most messages that are received and not deleted: waiting here, or in a "
                "handler's hands.",
     .member = &kMember<&core::SqsSpec::prefetch>,
     .low = 1,
     .high = 10'000},
    {.name = "visibility_timeout",
     .shape = Shape::kDuration,
     .meaning = "How long a message that was received is hidden from others. It is renewed while "
                "the message is open; it is how soon a message of a dead process comes again.",
     .member = &kMember<&core::SqsSpec::visibility>,
     .low = 5'000,
     .high = 43'200'000},
    {.name = "wait",
     .shape = Shape::kDuration,
     .meaning = "How long SQS waits for a message before it answers that there is none: fewer "
                "requests while the queue is empty. Whole seconds.",
     .member = &kMember<&core::SqsSpec::wait>,
     .low = 1'000,
     .high = 20'000},
    {.name = "credentials",
     .shape = Shape::kMap,
     .meaning = "An access key. Without one it is looked for where Amazon's own tools look: the "
                "environment, a web identity, the shared files, the container, the machine.",
     .fields = kSqsCredentialFields,
     .optional = true},
    {.name = "profile",
     .shape = Shape::kText,
     .meaning = "The profile of the shared files that has the credentials. Without it "
                "`AWS_PROFILE`, or the default one.",
     .member = &kMember<&core::SqsAccess::profile>},
    {.name = "ca_file",
     .shape = Shape::kPath,
     .meaning = "Who is trusted to vouch for the server: a file in PEM format. Without it those "
                "that the system trusts.",
     .member = &kMember<&core::SqsAccess::ca_file>},
};

inline constexpr Field kSourceFields[] = {
    {.name = "queue",
     .shape = Shape::kMap,
     .meaning = "The queue in the store itself, filled by `semel send`.",
     .alternative = true},
    {.name = "file",
     .shape = Shape::kMap,
     .meaning = "Lines of a file, followed as it grows.",
     .fields = kFileFields,
     .short_form = "path",
     .alternative = true},
    {.name = "http",
     .shape = Shape::kMap,
     .meaning = "Requests of HTTP: each POST is a message, and is answered when it is done.",
     .fields = kHttpSourceFields,
     .short_form = "listen",
     .alternative = true},
    {.name = "kafka",
     .shape = Shape::kMap,
     .meaning = "Topics of a Kafka cluster, read as a member of a consumer group.",
     .fields = kKafkaFields,
     .alternative = true},
    {.name = "nats",
     .shape = Shape::kMap,
     .meaning = "A durable consumer of a NATS JetStream stream.",
     .fields = kNatsFields,
     .alternative = true},
    {.name = "rabbitmq",
     .shape = Shape::kMap,
     .meaning = "A queue of a RabbitMQ broker, over AMQP 0-9-1.",
     .fields = kRabbitmqFields,
     .alternative = true},
    {.name = "redis_streams",
     .shape = Shape::kMap,
     .meaning = "A stream of a Redis server or Cluster, read as a member of a consumer group.",
     .fields = kRedisStreamsFields,
     .alternative = true},
    {.name = "sqs",
     .shape = Shape::kMap,
     .meaning = "A queue of Amazon SQS, standard or FIFO.",
     .fields = kSqsFields,
     .alternative = true},
    {.name = "stdin",
     .shape = Shape::kMap,
     .meaning = "Lines of standard input. What was read and not finished is lost with the process.",
     .alternative = true},
    {.name = "native",
     .shape = Shape::kText,
     .meaning = "A source of a C++ program, registered under this name (`Runner::source`).",
     .alternative = true},
    {.name = "claims",
     .shape = Shape::kMap,
     .meaning = "Nothing is brought: clients in any language claim keys of theirs through the API, "
                "and do the work. Such a consumer has no `key` and no `handler`.",
     .alternative = true},
};

}  // namespace semel::config
