// The schema of `handler:`; its other half is in schema_table.cc.
#pragma once

#include <cstddef>
#include <string_view>

#include "config/config.h"
#include "config/member.h"
#include "config/schema.h"
#include "config/schema_source.h"
#include "config/schema_units.h"

namespace semel::config {

// A field that another map has too.
template <std::size_t N>
constexpr Field named(const Field (&fields)[N], std::string_view name) {
  std::size_t at = 0;
  while (fields[at].name != name) ++at;
  return fields[at];
}

inline constexpr std::string_view kOtherwise = "done|retry|dead|discard|duplicate";

inline constexpr Field kParamFields[] = {
    {.name = "from",
     .shape = Shape::kPointer,
     .meaning = "Where the value is found in the payload.",
     .required = true},
    {.name = "type",
     .shape = Shape::kWord,
     .meaning = "What the value must be. `as_written`: what the JSON says, a number with all its "
                "digits; `decimal`: the same of a text too; `real`: the nearest double; `json`: "
                "an object, an array or any other value as JSON.",
     .member = &kMember<&core::SqlParam::type>,
     .words = "as_written|integer|real|decimal|text|boolean|json"},
    {.name = "optional",
     .shape = Shape::kBoolean,
     .meaning = "A missing one is NULL instead of `payload.invalid`.",
     .member = &kMember<&core::SqlParam::optional>},
};
inline constexpr Field kParamField[] = {{.name = "",
                                         .shape = Shape::kMap,
                                         .meaning = "",
                                         .fields = kParamFields,
                                         .short_form = "from"}};

inline constexpr Field kStatementFields[] = {
    {.name = "sql",
     .shape = Shape::kSql,
     .meaning = "One statement, with `:name` for each param: SELECT, INSERT, UPDATE, DELETE, "
                "REPLACE, VALUES or WITH.",
     .required = true},
    {.name = "expect_rows",
     .shape = Shape::kInteger,
     .meaning = "Rows it must change, or return.",
     .low = 0,
     .high = kMany},
    {.name = "otherwise",
     .shape = Shape::kWord,
     .meaning = "What the message becomes when `expect_rows` is missed.",
     .fallback = "retry",
     .words = kOtherwise},
};
inline constexpr Field kStatementField[] = {{.name = "",
                                             .shape = Shape::kMap,
                                             .meaning = "",
                                             .fields = kStatementFields,
                                             .short_form = "sql"}};
inline constexpr Field kOtherwiseField[] = {
    {.name = "", .shape = Shape::kWord, .meaning = "", .words = kOtherwise}};

inline constexpr Field kSqlFields[] = {
    {.name = "params",
     .shape = Shape::kDictionary,
     .meaning = "The statements' values: `name: json:/pointer`.",
     .fields = kParamField},
    {.name = "statements",
     .shape = Shape::kList,
     .meaning = "Run in the store's transaction, in this order.",
     .fields = kStatementField,
     .required = true},
    {.name = "on_unique_violation",
     .shape = Shape::kDictionary,
     .meaning = "What a message becomes that violates a unique constraint named as "
                "`table(column, …)` or by its own name. One that is not named is an error of the "
                "handler.",
     .fields = kOtherwiseField},
};

// The second part of a two-part handler: the same, with params from the call's answer too.
inline constexpr Field kApplyParamFields[] = {
    {.name = "from",
     .shape = Shape::kAnswerPointer,
     .meaning = "Where the value is found: in the payload, or with `answer:/pointer` in what the "
                "first part answered.",
     .required = true},
    kParamFields[1],
    kParamFields[2],
};
inline constexpr Field kApplyParamField[] = {{.name = "",
                                              .shape = Shape::kMap,
                                              .meaning = "",
                                              .fields = kApplyParamFields,
                                              .short_form = "from"}};
inline constexpr Field kApplySqlFields[] = {
    {.name = "params",
     .shape = Shape::kDictionary,
     .meaning = "The statements' values: `name: json:/pointer` or `name: answer:/pointer`.",
     .fields = kApplyParamField},
    kSqlFields[1],
    kSqlFields[2],
};
inline constexpr Field kApplyFields[] = {
    {.name = "sql",
     .shape = Shape::kMap,
     .meaning = "SQL statements in the store's own database.",
     .fields = kApplySqlFields,
     .required = true},
};

inline constexpr Field kArgumentField[] = {{.name = "", .shape = Shape::kArgument, .meaning = ""}};

inline constexpr Field kExecFields[] = {
    {.name = "command",
     .shape = Shape::kList,
     .meaning = "The program and its arguments; a plain value is a program without any. No shell "
                "reads them. A program without a slash is looked up in PATH.",
     .fields = kArgumentField,
     .required = true,
     .single = true},
    {.name = "timeout",
     .shape = Shape::kDuration,
     .meaning = "Of one call; past it the command's process group gets SIGTERM. Default: the "
                "consumer's `timeout`.",
     .low = 1,
     .high = kDay},
    {.name = "grace",
     .shape = Shape::kDuration,
     .meaning = "From SIGTERM until SIGKILL.",
     .member = &kMember<&core::ExecSpec::grace>,
     .low = 0,
     .high = kHour},
    {.name = "honours_key",
     .shape = Shape::kBoolean,
     .meaning = "Declares that the command makes its effect once for each `SEMEL_KEY`, however "
                "often it is run.",
     .member = &kMember<&core::ExecSpec::honours_key>},
};

inline constexpr Field kHeaderField[] = {
    {.name = "", .shape = Shape::kText, .meaning = "", .secret = true}};
inline constexpr Field kSecretField[] = {
    {.name = "", .shape = Shape::kText, .meaning = "", .secret = true}};

inline constexpr Field kSigningFields[] = {
    {.name = "standard_webhooks",
     .shape = Shape::kList,
     .meaning = "Secrets of Standard Webhooks, `whsec_…`; each signs every call, so that the "
                "receiver can change from one to the next.",
     .fields = kSecretField,
     .required = true,
     .comma = true},
};

inline constexpr Field kHttpFields[] = {
    {.name = "url",
     .shape = Shape::kText,
     .meaning = "Where each message is sent: http or https. `{json:/…}`, `{header:NAME}` and "
                "`{answer:STEP/…}` in its path or query stand for what is there.",
     .member = &kMember<&core::HttpSpec::url>,
     .required = true},
    {.name = "method",
     .shape = Shape::kWord,
     .meaning = "The method of the request; DELETE sends no body.",
     .member = &kMember<&core::HttpSpec::method>,
     .words = "POST|PUT|PATCH|DELETE"},
    {.name = "timeout",
     .shape = Shape::kDuration,
     .meaning = "Of one call, to the last byte of its answer. Default: the consumer's `timeout`.",
     .low = 1,
     .high = kDay},
    {.name = "headers",
     .shape = Shape::kDictionary,
     .meaning = "Sent with every call, beside Semel's own. Their values are never shown.",
     .fields = kHeaderField},
    {.name = "honours_key",
     .shape = Shape::kBoolean,
     .meaning = "Declares that the endpoint does nothing again under an Idempotency-Key it knows.",
     .member = &kMember<&core::HttpSpec::honours_key>},
    {.name = "remote_keeps",
     .shape = Shape::kDuration,
     .meaning = "Declares for how long the endpoint remembers a key: what is retried for longer "
                "may have its effect twice there (W045).",
     .member = &kMember<&core::HttpSpec::remote_keeps>,
     .low = kSecond,
     .high = kYears},
    {.name = "idempotency_key_style",
     .shape = Shape::kWord,
     .meaning = "Idempotency-Key in quotes, as its draft asks, or bare.",
     .member = &kMember<&core::HttpSpec::key_style>,
     .words = "quoted|bare"},
    {.name = "signing",
     .shape = Shape::kMap,
     .meaning = "How calls are signed. Without it they are not.",
     .fields = kSigningFields,
     .short_form = "standard_webhooks",
     .optional = true},
    {.name = "ca_file",
     .shape = Shape::kPath,
     .meaning = "Certificates (PEM) that are trusted in place of the system's.",
     .member = &kMember<&core::HttpSpec::ca_file>},
};

inline constexpr Field kKafkaHandlerFields[] = {
    {.name = "brokers",
     .shape = Shape::kText,
     .meaning = "Some of the cluster's brokers: `host:9092,host:9092`.",
     .member = &kMember<&core::KafkaPublishSpec::brokers>,
     .required = true,
     .look = "\"a:9092,b:9092\""},
    {.name = "topic",
     .shape = Shape::kText,
     .meaning = "Where each message is published, by its name.",
     .member = &kMember<&core::KafkaPublishSpec::topic>,
     .required = true},
    {.name = "properties",
     .shape = Shape::kDictionary,
     .meaning = "librdkafka's own settings, passed through: `compression.type: zstd`. What would "
                "break the promise is refused (E027).",
     .fields = kPropertyField},
    {.name = "honours_key",
     .shape = Shape::kBoolean,
     .meaning = "Declares that who reads the topic does nothing again under an Idempotency-Key it "
                "knows.",
     .member = &kMember<&core::KafkaPublishSpec::honours_key>},
};

inline constexpr Field kRabbitmqHandlerFields[] = {
    kRabbitmqFields[0],
    {.name = "queue",
     .shape = Shape::kText,
     .meaning = "Where each message is published: the queue's name, by the default exchange. Else "
                "`exchange` and `routing_key`."},
    {.name = "exchange",
     .shape = Shape::kText,
     .meaning = "Where each message is published, in place of a queue."},
    {.name = "routing_key",
     .shape = Shape::kText,
     .meaning = "What the exchange routes by; without it an empty one, as fanout takes it."},
    kRabbitmqFields[5],
    kRabbitmqFields[6],
    {.name = "honours_key",
     .shape = Shape::kBoolean,
     .meaning = "Declares that who consumes it does nothing again under a message-id it knows.",
     .member = &kMember<&core::RabbitmqPublishSpec::honours_key>},
    {.name = "deduplicated_for",
     .shape = Shape::kDuration,
     .meaning = "Declares that the broker's message deduplication plugin drops what comes again "
                "there within so long: each message has its id as `x-deduplication-header`.",
     .member = &kMember<&core::RabbitmqPublishSpec::deduplicated_for>,
     .low = 1'000,
     .high = kYears},
};

inline constexpr Field kRedisStreamsHandlerFields[] = {
    {.name = "url",
     .shape = Shape::kText,
     .meaning = "The server: `redis://user:password@host:6379/0`, with `rediss://` over TLS, as "
                "`store.redis.url` takes it; nodes of a Cluster with commas between. A password in "
                "it is never shown.",
     .member = &kMember<&core::RedisStreamsPublishSpec::url>,
     .required = true,
     .address = true},
    {.name = "stream",
     .shape = Shape::kText,
     .meaning = "The stream that each message is added to: its name.",
     .member = &kMember<&core::RedisStreamsPublishSpec::stream>,
     .required = true},
    {.name = "payload",
     .shape = Shape::kText,
     .meaning = "The field of an entry that is the payload; the others are headers.",
     .member = &kMember<&core::RedisStreamsPublishSpec::payload>},
    {.name = "declare",
     .shape = Shape::kBoolean,
     .meaning = "The stream is made where it is not there. Else it has to be there.",
     .member = &kMember<&core::RedisStreamsPublishSpec::declare>},
    {.name = "max_length",
     .shape = Shape::kInteger,
     .meaning = "The oldest entries are removed, also those that nobody has read, so that about so "
                "many are left. Without it the stream grows without end.",
     .member = &kMember<&core::RedisStreamsPublishSpec::max_length>,
     .low = 1,
     .high = 1'000'000'000'000},
    {.name = "honours_key",
     .shape = Shape::kBoolean,
     .meaning = "Declares that who reads the stream does nothing again under an Idempotency-Key it "
                "knows.",
     .member = &kMember<&core::RedisStreamsPublishSpec::honours_key>},
};

inline constexpr Field kNatsHandlerFields[] = {
    named(kNatsFields, "url"),
    {.name = "subject",
     .shape = Shape::kText,
     .meaning = "Where each message is published. A JetStream stream has to take it.",
     .member = &kMember<&core::NatsPublishSpec::subject>,
     .required = true},
    named(kNatsFields, "token"),
    named(kNatsFields, "credentials"),
    named(kNatsFields, "tls"),
    {.name = "honours_key",
     .shape = Shape::kBoolean,
     .meaning = "Declares that who reads it does nothing again under an Idempotency-Key it knows.",
     .member = &kMember<&core::NatsPublishSpec::honours_key>},
};

inline constexpr Field kSqsHandlerFields[] = {
    {.name = "queue_url",
     .shape = Shape::kText,
     .meaning = "Where each message is sent: the queue's URL, "
                "`https://sqs.eu-west-1.amazonaws.com/123456789012/orders`, or that of a server "
                "that speaks SQS's JSON protocol. A name that ends in `.fifo` is a FIFO queue's.",
     .required = true},
    named(kSqsFields, "region"),
    named(kSqsFields, "credentials"),
    named(kSqsFields, "profile"),
    named(kSqsFields, "ca_file"),
    {.name = "group",
     .shape = Shape::kText,
     .meaning = "FIFO: the message group of all messages. Without it each message is in the group "
                "of its ordering key (`order.key`), without one in that of its key.",
     .member = &kMember<&core::SqsFifo::group>},
    {.name = "deduplication",
     .shape = Shape::kWord,
     .meaning = "FIFO: what the deduplication id is made of. With `key` SQS drops a second message "
                "under a key within five minutes, whatever its payload is.",
     .member = &kMember<&core::SqsFifo::deduplication>,
     .words = "key_and_payload|key"},
    {.name = "delay",
     .shape = Shape::kDuration,
     .meaning = "How long SQS hides each message before anybody receives it, in whole seconds. Not "
                "on a FIFO queue, which has a delay of its own.",
     .member = &kMember<&core::SqsPublishSpec::delay>,
     .high = std::chrono::milliseconds(core::kSqsLongestDelay).count()},
    {.name = "honours_key",
     .shape = Shape::kBoolean,
     .meaning = "Declares that who receives it does nothing again under an Idempotency-Key it "
                "knows.",
     .member = &kMember<&core::SqsSendSpec::honours_key>},
};

inline constexpr Field kSnsHandlerFields[] = {
    {.name = "topic_arn",
     .shape = Shape::kText,
     .meaning = "Where each message is published: the topic's ARN, "
                "`arn:aws:sns:eu-west-1:123456789012:orders`. Requests go to its region. A name "
                "that ends in `.fifo` is a FIFO topic's.",
     .required = true},
    {.name = "endpoint",
     .shape = Shape::kText,
     .meaning = "The URL of a server that speaks SNS's query protocol, or of an interface of a "
                "VPC. Without it Amazon's own, in the topic's region."},
    named(kSqsFields, "credentials"),
    named(kSqsFields, "profile"),
    named(kSqsFields, "ca_file"),
    named(kSqsHandlerFields, "group"),
    {.name = "deduplication",
     .shape = Shape::kWord,
     .meaning = "FIFO: what the deduplication id is made of. With `key` SNS drops a second message "
                "under a key within five minutes, whatever its payload is.",
     .member = &kMember<&core::SqsFifo::deduplication>,
     .words = "key_and_payload|key"},
    {.name = "honours_key",
     .shape = Shape::kBoolean,
     .meaning = "Declares that all subscribers do nothing again under an Idempotency-Key they "
                "know.",
     .member = &kMember<&core::SqsSendSpec::honours_key>},
};

// How a step, or its undo, is called.
inline constexpr Field kStepHttp = {.name = "http",
                                    .shape = Shape::kMap,
                                    .meaning =
                                        "An endpoint that the message is sent to, under a "
                                        "key of its own.",
                                    .fields = kHttpFields,
                                    .short_form = "url",
                                    .alternative = true};
inline constexpr Field kStepExec = {.name = "exec",
                                    .shape = Shape::kMap,
                                    .meaning =
                                        "A command: the message on stdin, and a key of its "
                                        "own in `SEMEL_KEY`.",
                                    .fields = kExecFields,
                                    .short_form = "command",
                                    .alternative = true};
template <auto Answers>
inline constexpr Field kStepAnswers = {
    .name = "answers",
    .shape = Shape::kBoolean,
    .meaning =
        "The body is `{\"message\": …, \"answers\": {NAME: …}}` in place of the message: with what "
        "each step before it answered; an undo's, with what its step answered.",
    .member = &kMember<Answers>};
inline constexpr Field kUndoFields[] = {
    kStepHttp,
    kStepExec,
    kStepAnswers<&StepConfig::undo_answers>,
};
inline constexpr Field kStepFields[] = {
    {.name = "name",
     .shape = Shape::kName,
     .meaning = "What the step is known by in the journal and in its key; no two of one name.",
     .member = &kMember<&StepConfig::name>,
     .required = true},
    kStepHttp,
    kStepExec,
    kStepAnswers<&StepConfig::answers>,
    {.name = "undo",
     .shape = Shape::kMap,
     .meaning = "Called when the message is given up after this step was done, the last step "
                "first. Without it the step stays done.",
     .fields = kUndoFields,
     .one_of = true,
     .optional = true},
};
inline constexpr Field kStepField[] = {
    {.name = "", .shape = Shape::kMap, .meaning = "", .fields = kStepFields, .one_of = true}};

inline constexpr Field kHandlerFields[] = {
    {.name = "sql",
     .shape = Shape::kMap,
     .meaning = "SQL statements in the store's own database.",
     .fields = kSqlFields,
     .alternative = true},
    {.name = "exec",
     .shape = Shape::kMap,
     .meaning = "A command of any language: the payload on stdin, the verdict by its exit code.",
     .fields = kExecFields,
     .short_form = "command",
     .alternative = true},
    {.name = "http",
     .shape = Shape::kMap,
     .meaning = "An endpoint that each message is sent to.",
     .fields = kHttpFields,
     .short_form = "url",
     .alternative = true},
    {.name = "kafka",
     .shape = Shape::kMap,
     .meaning = "A topic of a Kafka cluster that each message is published to.",
     .fields = kKafkaHandlerFields,
     .alternative = true},
    {.name = "nats",
     .shape = Shape::kMap,
     .meaning = "A subject of a NATS JetStream stream that each message is published to.",
     .fields = kNatsHandlerFields,
     .alternative = true},
    {.name = "rabbitmq",
     .shape = Shape::kMap,
     .meaning = "An exchange or a queue of a RabbitMQ broker that each message is published to.",
     .fields = kRabbitmqHandlerFields,
     .alternative = true},
    {.name = "redis_streams",
     .shape = Shape::kMap,
     .meaning = "A stream of a Redis server or Cluster that each message is added to.",
     .fields = kRedisStreamsHandlerFields,
     .alternative = true},
    {.name = "sns",
     .shape = Shape::kMap,
     .meaning = "A topic of Amazon SNS, standard or FIFO, that each message is published to.",
     .fields = kSnsHandlerFields,
     .alternative = true},
    {.name = "sqs",
     .shape = Shape::kMap,
     .meaning = "A queue of Amazon SQS, standard or FIFO, that each message is sent to.",
     .fields = kSqsHandlerFields,
     .alternative = true},
    {.name = "steps",
     .shape = Shape::kList,
     .meaning = "Several calls, one after the other; one that is done is kept in the store and not "
                "made again.",
     .fields = kStepField,
     .alternative = true},
    {.name = "native",
     .shape = Shape::kText,
     .meaning = "A C++ function registered under this name. Default: the consumer's name.",
     .alternative = true},
    {.name = "apply",
     .shape = Shape::kMap,
     .meaning = "A second part: run when the first, outside, has answered, in the transaction that "
                "completes the record.",
     .fields = kApplyFields,
     .optional = true},
};

}  // namespace semel::config
