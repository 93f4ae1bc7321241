// The schema of `source:`.
#pragma once

#include "config/member.h"
#include "config/schema.h"
#include "core/file_spec.h"
#include "core/kafka_spec.h"
#include "core/rabbitmq_spec.h"

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
     .required = true},
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
    {.name = "kafka",
     .shape = Shape::kMap,
     .meaning = "Topics of a Kafka cluster, read as a member of a consumer group.",
     .fields = kKafkaFields,
     .alternative = true},
    {.name = "rabbitmq",
     .shape = Shape::kMap,
     .meaning = "A queue of a RabbitMQ broker, over AMQP 0-9-1.",
     .fields = kRabbitmqFields,
     .alternative = true},
    {.name = "stdin",
     .shape = Shape::kMap,
     .meaning = "Lines of standard input. What was read and not finished is lost with the process.",
     .alternative = true},
    {.name = "claims",
     .shape = Shape::kMap,
     .meaning = "Nothing is brought: clients in any language claim keys of theirs through the API, "
                "and do the work. Such a consumer has no `key` and no `handler`.",
     .alternative = true},
};

}  // namespace semel::config
