#include "config/config.h"
#include "config/member.h"
#include "config/schema.h"
#include "config/schema_admin.h"
#include "config/schema_handler.h"
#include "config/schema_source.h"
#include "config/schema_store.h"
#include "config/schema_strategy.h"
#include "config/schema_traces.h"
#include "config/schema_units.h"

namespace semel::config {
namespace {

constexpr Field kKeyPartField[] = {{.name = "", .shape = Shape::kKeyPart, .meaning = ""}};
constexpr Field kPointerField[] = {{.name = "", .shape = Shape::kPointer, .meaning = ""}};

constexpr Field kKeyFields[] = {
    {.name = "from",
     .shape = Shape::kList,
     .meaning = "Where the key is found: `json:/pointer`, `header:Name`, `cloudevents` (source and "
                "id), `idempotency-key`, `webhook-id`, `broker_key` (the id the producer gave the "
                "broker), `position` (names a copy, not an event), `function` (C++). The first one "
                "present wins. `auto`: `cloudevents`, `idempotency-key`, `webhook-id`, "
                "`broker_key`, in this order.",
     .fallback = "auto",
     .words = "auto",
     .fields = kKeyPartField,
     .comma = true},
    {.name = "join",
     .shape = Shape::kBoolean,
     .meaning = "All parts together make the key.",
     .member = &kMember<&core::KeyRecipe::join>},
    {.name = "missing",
     .shape = Shape::kWord,
     .meaning = "What a message without a key becomes: a dead letter, the end of the run, or one "
                "whose key is a digest of its body, which weakens the guarantee.",
     .member = &kMember<&core::KeyRecipe::missing>,
     .words = "dead_letter|fail|hash_body"},
    {.name = "fingerprint",
     .shape = Shape::kList,
     .meaning = "What must be the same when a key comes again, else it is a conflict. `body`: each "
                "byte; `json`: what the payload says as JSON, whatever its spaces, the order of "
                "its members and the spelling of its numbers; a list of `json:/pointer`: what "
                "stands there, as it is written; `none`: nothing.",
     .member = &kMember<&core::KeyRecipe::fingerprint>,
     .words = "body|json|none",
     .fields = kPointerField,
     .comma = true},
};

constexpr Field kDedupFields[] = {
    {.name = "ttl",
     .shape = Shape::kDuration,
     .meaning = "How long a finished record is kept. `auto`: by how late the source can still "
                "redeliver; `keep`: for ever.",
     .member = &kWordOr<&DedupConfig::ttl, &DedupConfig::ttl_for>,
     .words = "auto|keep",
     .low = kSecond,
     .high = kYears},
    {.name = "too_old",
     .shape = Shape::kWord,
     .meaning =
         "What becomes of a message that is older, by its broker's time, than seven eighths "
         "of `ttl` and has no record, which may be forgotten. `park`: it waits for a person; "
         "`handle`: it is taken for new; `discard`: it is settled, and not handled.",
     .member = &kMember<&DedupConfig::too_old>,
     .words = "park|handle|discard"},
    {.name = "lease",
     .shape = Shape::kDuration,
     .meaning = "How long a claim is good without renewal. It is renewed at a third of that while "
                "the handler lives.",
     .member = &kMember<&DedupConfig::lease>,
     .unit = "s",
     .low = 100,
     .high = kDay},
};

constexpr Field kOrderFields[] = {
    {.name = "key",
     .shape = Shape::kKeyPart,
     .meaning = "What messages are ordered by: `json:/pointer`, `header:Name`, `broker_key`. What "
                "has none comes in no order with others."},
    {.name = "on_failure",
     .shape = Shape::kWord,
     .meaning = "What happens to what comes after a message that must wait for its next try. "
                "`hold_key`: what has its ordering key waits behind it in the store; `block`: what "
                "has not begun of its partition waits, at the source; `skip`: it is passed by.",
     .member = &kMember<&core::Order::on_failure>,
     .words = "hold_key|block|skip"},
    {.name = "max_held",
     .shape = Shape::kSize,
     .meaning = "Payloads that wait in the store behind one ordering key; past it the source is "
                "paused.",
     .member = &kMember<&core::Order::most_held>,
     .low = kKiB,
     .high = 4096 * kMiB},
};

constexpr Field kRetryFields[] = {
    {.name = "attempts",
     .shape = Shape::kInteger,
     .meaning = "Tries in all, the first one counted. 0: no limit.",
     .member = &kMember<&RetryPolicy::attempts>,
     .low = 0,
     .high = 1'000'000},
    {.name = "backoff",
     .shape = Shape::kDurationRange,
     .meaning =
         "The wait after the first failure, doubled each time up to the second value. After a "
         "failure that is not counted at least an eighth of the time since the key was first "
         "met, up to the same.",
     .member = &kRange<&RetryPolicy::first, &RetryPolicy::longest>,
     .low = 1,
     .high = 30 * kDay},
    {.name = "jitter",
     .shape = Shape::kNumber,
     .meaning = "Each wait is spread by up to this part of itself, both ways.",
     .member = &kMember<&RetryPolicy::jitter>,
     .low = 0,
     .high = 1},
    {.name = "max_elapsed",
     .shape = Shape::kDuration,
     .meaning = "Since the key was first met. 0: no limit.",
     .member = &kMember<&RetryPolicy::max_elapsed>,
     .low = 0,
     .high = kYears},
    {.name = "crashes",
     .shape = Shape::kInteger,
     .meaning = "Deaths of the process with a message alone in hand before it is given up.",
     .member = &kMember<&RetryPolicy::crashes>,
     .low = 1,
     .high = 1'000},
};

constexpr Field kBatchFields[] = {
    {.name = "max",
     .shape = Shape::kInteger,
     .meaning = "Messages in one transaction at most. A batch never waits to fill.",
     .member = &kMember<&core::Pace::batch_max>,
     .low = 1,
     .high = 10'000},
    {.name = "target_time",
     .shape = Shape::kDuration,
     .meaning = "Batches shrink when a transaction takes longer, unless it does with any size.",
     .member = &kMember<&core::Pace::batch_target>,
     .low = 1,
     .high = kMinute},
};

constexpr Field kLimitsFields[] = {
    {.name = "key",
     .shape = Shape::kSize,
     .meaning = "The longest key.",
     .member = &kMember<&core::Limits::key>,
     .low = 1,
     .high = kMiB},
    {.name = "payload",
     .shape = Shape::kSize,
     .meaning = "The largest payload.",
     .member = &kMember<&core::Limits::payload>,
     .low = 1,
     .high = 512 * kMiB},
    {.name = "headers",
     .shape = Shape::kSize,
     .meaning = "All headers of a message together.",
     .member = &kMember<&core::Limits::headers>,
     .low = 1,
     .high = 64 * kMiB},
    {.name = "result",
     .shape = Shape::kSize,
     .meaning = "The largest result a handler may leave with the record.",
     .member = &kMember<&core::Limits::result>,
     .low = 1,
     .high = 64 * kMiB},
};

constexpr Field kInFlightFields[] = {
    {.name = "messages",
     .shape = Shape::kInteger,
     .meaning = "Messages received and not yet settled.",
     .member = &kMember<&core::Pace::max_in_flight>,
     .low = 1,
     .high = 1'000'000},
    {.name = "bytes",
     .shape = Shape::kSize,
     .meaning = "Their payloads together.",
     .member = &kMember<&core::Pace::max_in_flight_bytes>,
     .low = kKiB,
     .high = 4096 * kMiB},
    {.name = "held",
     .shape = Shape::kInteger,
     .meaning =
         "With `defer` and strategy `fence`: messages that the store keeps for the consumer, "
         "retries among them. Past it its sources rest; what they have waits in the broker.",
     .member = &kMember<&core::Pace::max_held>,
     .low = 1,
     .high = 100'000'000},
};

constexpr Field kPublishField[] = {{.name = "", .shape = Shape::kName, .meaning = ""}};

constexpr Field kDeadLetterFields[] = {
    {.name = "copy_to",
     .shape = Shape::kName,
     .meaning = "A consumer of this file whose source is `queue`. Each dead letter leaves a copy "
                "for it, in the commit that makes it one; the store keeps the dead letter itself."},
    {.name = "expire",
     .shape = Shape::kDuration,
     .meaning =
         "How long the store keeps a dead letter: an older one is removed, with its payload. "
         "Without it they are kept until a person replays or discards them.",
     .low = kSecond,
     .high = kYears},
};

constexpr Field kAcceptField[] = {
    {.name = "", .shape = Shape::kCode, .meaning = "", .words = "key_recipe"}};

constexpr Field kDedup = {.name = "dedup",
                          .shape = Shape::kMap,
                          .meaning = "The record: how long it is kept and how it is held.",
                          .fields = kDedupFields};
constexpr Field kRetry = {.name = "retry",
                          .shape = Shape::kMap,
                          .meaning = "When a failed message is run again, and when it is given up.",
                          .fields = kRetryFields};
constexpr Field kConcurrency = {.name = "concurrency",
                                .shape = Shape::kInteger,
                                .meaning = "Handlers at a time. `auto`: by store and handler.",
                                .member = &kMember<&ConsumerConfig::concurrency>,
                                .words = "auto",
                                .low = 1,
                                .high = 256};
constexpr Field kBatch = {.name = "batch",
                          .shape = Shape::kMap,
                          .meaning = "How much goes into one transaction.",
                          .fields = kBatchFields};
constexpr Field kTimeout = {.name = "timeout",
                            .shape = Shape::kDuration,
                            .meaning = "Of one call of the handler.",
                            .member = &kMember<&ConsumerConfig::timeout>,
                            .low = 1,
                            .high = kDay};
constexpr Field kLimits = {.name = "limits",
                           .shape = Shape::kMap,
                           .meaning =
                               "Sizes past which a message becomes a dead letter with reason "
                               "`too_large`; never a cut.",
                           .fields = kLimitsFields};
constexpr Field kInFlight = {.name = "in_flight",
                             .shape = Shape::kMap,
                             .meaning =
                                 "How much may be received and not yet settled; past it the "
                                 "source is paused.",
                             .fields = kInFlightFields};

constexpr Field kDefaultsFields[] = {kDedup,   kRetry,  kConcurrency, kBatch,
                                     kTimeout, kLimits, kInFlight};

constexpr Field kConsumerFields[] = {
    {.name = "name",
     .shape = Shape::kName,
     .meaning = "First half of every record's key: renaming it makes all messages new. "
                "`[a-z][a-z0-9_-]{0,62}`.",
     .member = &kMember<&ConsumerConfig::name>,
     .required = true},
    {.name = "source",
     .shape = Shape::kMap,
     .meaning = "Where messages come from.",
     .fields = kSourceFields,
     .required = true,
     .one_of = true},
    {.name = "key",
     .shape = Shape::kMap,
     .meaning = "What identifies the effect. A plain value is `from`.",
     .fields = kKeyFields,
     .short_form = "from"},
    {.name = "empty",
     .shape = Shape::kWord,
     .meaning = "What becomes of a message whose payload has no bytes, as a tombstone of Kafka. "
                "`handle`: its handler is called, where it has a key; `dead_letter`: it is one, "
                "with reason `payload.invalid`; `discard`: it is settled, and leaves no record.",
     .member = &kMember<&ConsumerConfig::empty>,
     .words = "handle|dead_letter|discard"},
    {.name = "order",
     .shape = Shape::kMap,
     .meaning = "Which messages come one after the other, also where one of them has to wait, over "
                "restarts and several processes. A plain value is `key`. Without it a failed "
                "message is passed by.",
     .fields = kOrderFields,
     .short_form = "key",
     .optional = true},
    {.name = "defer",
     .shape = Shape::kWord,
     .meaning = "Whether messages are kept in the store and settled at their source first, and "
                "handled from there: `here`, by this process and any other that runs the consumer; "
                "`elsewhere`: this one only receives.",
     .member = &kMember<&ConsumerConfig::defer>,
     .words = "never|here|elsewhere"},
    {.name = "strategy",
     .shape = Shape::kWord,
     .meaning = "How the effect is made once. Default: `dedup_table` where the handler runs in the "
                "store's transaction, `fence` for HTTP unless the store is memory, else "
                "`state_machine`. `fence`: as that, for calls of other services, with the message "
                "kept in the store before its call. `at_most_once`: a "
                "try whose outcome is not known is not repeated, but parked for a person.",
     .words = "natural|query|pessimistic_lock|optimistic_lock|dedup_table|inbox|state_machine|"
              "fence|at_most_once"},
    {.name = "unsafe",
     .shape = Shape::kBoolean,
     .meaning = "Allows strategy `query`, which promises nothing.",
     .member = &kMember<&ConsumerConfig::unsafe>},
    {.name = "query",
     .shape = Shape::kMap,
     .meaning = "Of strategy `query`: how it looks.",
     .fields = kQueryFields,
     .short_form = "exists",
     .optional = true},
    {.name = "lock",
     .shape = Shape::kMap,
     .meaning = "Of strategy `pessimistic_lock`: the row, and when it is done.",
     .fields = kLockFields,
     .optional = true},
    {.name = "version",
     .shape = Shape::kMap,
     .meaning = "Of strategy `optimistic_lock`: the message's version, and the row's.",
     .fields = kVersionFields,
     .optional = true},
    kDedup,
    {.name = "front",
     .shape = Shape::kMap,
     .meaning = "A fast window in front of the records, that answers only *completed*: a duplicate "
                "that comes soon again costs no way to the store. It may forget, or be away, at "
                "any time; nothing but speed depends on it.",
     .fields = kFrontFields,
     .one_of = true,
     .optional = true},
    kRetry,
    kConcurrency,
    kBatch,
    kTimeout,
    kLimits,
    kInFlight,
    {.name = "handler",
     .shape = Shape::kMap,
     .meaning = "What is done with a message.",
     .fields = kHandlerFields},
    {.name = "publish",
     .shape = Shape::kList,
     .meaning = "Consumers of this file whose source is `queue`: each is sent the message once it "
                "is done, in the commit that records it (an outbox).",
     .fields = kPublishField,
     .comma = true},
    {.name = "dead_letter",
     .shape = Shape::kMap,
     .meaning = "What becomes of dead letters.",
     .fields = kDeadLetterFields,
     .short_form = "copy_to",
     .optional = true},
    {.name = "accept",
     .shape = Shape::kList,
     .meaning = "What is accepted knowingly: `key_recipe` (a changed key, which makes all messages "
                "new), or the code of a warning or of D102.",
     .fields = kAcceptField,
     .comma = true},
};
constexpr Field kConsumerField[] = {
    {.name = "", .shape = Shape::kMap, .meaning = "", .fields = kConsumerFields}};

constexpr Field kRootFields[] = {
    {.name = "version",
     .shape = Shape::kInteger,
     .meaning = "Of the config's form.",
     .fallback = "1",
     .low = 1,
     .high = 1},
    {.name = "store",
     .shape = Shape::kMap,
     .meaning = "Where the records are.",
     .fields = kStoreFields,
     .usual = "sqlite"},
    {.name = "admin",
     .shape = Shape::kMap,
     .meaning = "The admin listener of a run: dashboard, metrics, health and API over HTTP. "
                "Without it nothing "
                "listens.",
     .fields = kAdminFields,
     .optional = true},
    {.name = "traces",
     .shape = Shape::kMap,
     .meaning = "Where a run sends the spans of its deliveries. Without it nothing is traced.",
     .fields = kTracesFields,
     .short_form = "otlp",
     .optional = true},
    {.name = "drain_timeout",
     .shape = Shape::kDuration,
     .meaning = "How long a stop waits for what is in flight.",
     .member = &kMember<&Config::drain_timeout>,
     .low = 0,
     .high = kDay},
    {.name = "defaults",
     .shape = Shape::kMap,
     .meaning =
         "Of every consumer that does not say otherwise: `dedup`, `retry`, `concurrency`, `batch`, "
         "`timeout`, `limits` and `in_flight`, as there.",
     .fields = kDefaultsFields,
     .optional = true},
    {.name = "consumers",
     .shape = Shape::kList,
     .meaning = "Each a source, a key and a handler.",
     .fields = kConsumerField,
     .required = true},
};
constexpr Field kRoot = {.name = "", .shape = Shape::kMap, .meaning = "", .fields = kRootFields};

}  // namespace

const Field& schema() noexcept { return kRoot; }

}  // namespace semel::config
