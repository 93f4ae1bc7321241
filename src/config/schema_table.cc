#include "config/schema.h"

namespace semel::config {
namespace {

constexpr std::int64_t kSecond = 1'000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;
constexpr std::int64_t kYears = 10 * 365 * kDay;
constexpr std::int64_t kKiB = 1 << 10;
constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kMany = 1'000'000'000;
constexpr std::string_view kOtherwise = "done|retry|dead|discard|duplicate";

constexpr Field kSqliteFields[] = {
    {.name = "path",
     .shape = Shape::kPath,
     .meaning = "The database file that holds the records, and your tables where a SQL handler "
                "writes them. Where `$STATE_DIRECTORY` is set, its default is in there.",
     .fallback = "semel.db"},
    {.name = "generation_rows",
     .shape = Shape::kInteger,
     .meaning = "Completed records in one generation before a new one is begun; a whole one is "
                "dropped when its `ttl` is over.",
     .fallback = "1000000",
     .low = 1,
     .high = kMany},
};

constexpr Field kMemoryFields[] = {
    {.name = "max_records",
     .shape = Shape::kInteger,
     .meaning = "Records kept; past it the oldest finished one is forgotten.",
     .fallback = "1000000",
     .low = 1,
     .high = kMany},
};

constexpr Field kStoreFields[] = {
    {.name = "sqlite",
     .shape = Shape::kMap,
     .meaning = "Records in an SQLite file.",
     .fields = kSqliteFields,
     .short_form = "path",
     .alternative = true},
    {.name = "memory",
     .shape = Shape::kMap,
     .meaning = "Records in the process: everything is forgotten when it ends. For trials.",
     .fields = kMemoryFields,
     .alternative = true},
    {.name = "on_unavailable",
     .shape = Shape::kWord,
     .meaning = "When the store cannot be reached: wait and try again, or end with exit code 69. "
                "Never: go on without it.",
     .fallback = "pause",
     .words = "pause|fail"},
};

constexpr Field kFileFields[] = {
    {.name = "path",
     .shape = Shape::kPath,
     .meaning = "A file with one JSON document a line.",
     .required = true},
    {.name = "from",
     .shape = Shape::kWord,
     .meaning = "Where reading begins: where this consumer got to before, or the first line.",
     .fallback = "kept",
     .words = "kept|start"},
};

constexpr Field kSourceFields[] = {
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
    {.name = "stdin",
     .shape = Shape::kMap,
     .meaning = "Lines of standard input. What was read and not finished is lost with the process.",
     .alternative = true},
};

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
     .fallback = "false"},
    {.name = "missing",
     .shape = Shape::kWord,
     .meaning = "What a message without a key becomes: a dead letter, the end of the run, or one "
                "whose key is a digest of its body, which weakens the guarantee.",
     .fallback = "dead_letter",
     .words = "dead_letter|fail|hash_body"},
    {.name = "fingerprint",
     .shape = Shape::kList,
     .meaning = "What must be the same when a key comes again, else it is a conflict: the whole "
                "body, nothing, or a list of `json:/pointer`.",
     .fallback = "body",
     .words = "body|none",
     .fields = kPointerField,
     .comma = true},
};

constexpr Field kQueryFields[] = {
    {.name = "exists",
     .shape = Shape::kSql,
     .meaning = "A SELECT with the handler's params; a row means that the effect is there.",
     .required = true},
};

constexpr Field kDedupFields[] = {
    {.name = "ttl",
     .shape = Shape::kDuration,
     .meaning = "How long a finished record is kept. `auto`: by how late the source can still "
                "redeliver; `keep`: for ever.",
     .fallback = "auto",
     .words = "auto|keep",
     .low = kSecond,
     .high = kYears},
    {.name = "lease",
     .shape = Shape::kDuration,
     .meaning = "How long a claim is good without renewal. It is renewed at a third of that while "
                "the handler lives.",
     .fallback = "60s",
     .low = 100,
     .high = kDay},
};

constexpr Field kRetryFields[] = {
    {.name = "attempts",
     .shape = Shape::kInteger,
     .meaning = "Tries in all, the first one counted. 0: no limit.",
     .fallback = "8",
     .low = 0,
     .high = 1'000'000},
    {.name = "backoff",
     .shape = Shape::kDurationRange,
     .meaning = "The wait after the first failure, doubled each time up to the second value.",
     .fallback = "1s..5m",
     .low = 1,
     .high = 30 * kDay},
    {.name = "jitter",
     .shape = Shape::kNumber,
     .meaning = "Each wait is spread by up to this part of itself, both ways.",
     .fallback = "0.2",
     .low = 0,
     .high = 1},
    {.name = "max_elapsed",
     .shape = Shape::kDuration,
     .meaning = "Since the key was first met. 0: no limit.",
     .fallback = "6h",
     .low = 0,
     .high = kYears},
    {.name = "crashes",
     .shape = Shape::kInteger,
     .meaning = "Crash attempts before a message that kills its process is given up.",
     .fallback = "3",
     .low = 1,
     .high = 1'000},
};

constexpr Field kBatchFields[] = {
    {.name = "max",
     .shape = Shape::kInteger,
     .meaning = "Messages in one transaction at most. A batch never waits to fill.",
     .fallback = "100",
     .low = 1,
     .high = 10'000},
    {.name = "target_time",
     .shape = Shape::kDuration,
     .meaning = "Batches shrink when a transaction takes longer.",
     .fallback = "20ms",
     .low = 1,
     .high = kMinute},
};

constexpr Field kLimitsFields[] = {
    {.name = "key",
     .shape = Shape::kSize,
     .meaning = "The longest key.",
     .fallback = "64KiB",
     .low = 1,
     .high = kMiB},
    {.name = "payload",
     .shape = Shape::kSize,
     .meaning = "The largest payload.",
     .fallback = "16MiB",
     .low = 1,
     .high = 512 * kMiB},
    {.name = "headers",
     .shape = Shape::kSize,
     .meaning = "All headers of a message together.",
     .fallback = "256KiB",
     .low = 1,
     .high = 64 * kMiB},
    {.name = "result",
     .shape = Shape::kSize,
     .meaning = "The largest result a handler may leave with the record.",
     .fallback = "1MiB",
     .low = 1,
     .high = 64 * kMiB},
};

constexpr Field kInFlightFields[] = {
    {.name = "messages",
     .shape = Shape::kInteger,
     .meaning = "Messages received and not yet settled.",
     .fallback = "1000",
     .low = 1,
     .high = 1'000'000},
    {.name = "bytes",
     .shape = Shape::kSize,
     .meaning = "Their payloads together.",
     .fallback = "32MiB",
     .low = kKiB,
     .high = 4096 * kMiB},
};

constexpr Field kParamFields[] = {
    {.name = "from",
     .shape = Shape::kPointer,
     .meaning = "Where the value is found in the payload.",
     .required = true},
    {.name = "type",
     .shape = Shape::kWord,
     .meaning = "What the value must be. `as_written`: what the JSON says.",
     .fallback = "as_written",
     .words = "as_written|integer|real|text|boolean"},
    {.name = "optional",
     .shape = Shape::kBoolean,
     .meaning = "A missing one is NULL instead of `payload.invalid`.",
     .fallback = "false"},
};
constexpr Field kParamField[] = {{.name = "",
                                  .shape = Shape::kMap,
                                  .meaning = "",
                                  .fields = kParamFields,
                                  .short_form = "from"}};

constexpr Field kStatementFields[] = {
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
constexpr Field kStatementField[] = {{.name = "",
                                      .shape = Shape::kMap,
                                      .meaning = "",
                                      .fields = kStatementFields,
                                      .short_form = "sql"}};
constexpr Field kOtherwiseField[] = {
    {.name = "", .shape = Shape::kWord, .meaning = "", .words = kOtherwise}};

constexpr Field kSqlFields[] = {
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
                "`table(column, …)`. One that is not named is an error of the handler.",
     .fields = kOtherwiseField},
};

// The second part of work in two: the same, with params from the call's answer too.
constexpr Field kApplyParamFields[] = {
    {.name = "from",
     .shape = Shape::kAnswerPointer,
     .meaning = "Where the value is found: in the payload, or with `answer:/pointer` in what the "
                "first part answered.",
     .required = true},
    kParamFields[1],
    kParamFields[2],
};
constexpr Field kApplyParamField[] = {{.name = "",
                                       .shape = Shape::kMap,
                                       .meaning = "",
                                       .fields = kApplyParamFields,
                                       .short_form = "from"}};
constexpr Field kApplySqlFields[] = {
    {.name = "params",
     .shape = Shape::kDictionary,
     .meaning = "The statements' values: `name: json:/pointer` or `name: answer:/pointer`.",
     .fields = kApplyParamField},
    kSqlFields[1],
    kSqlFields[2],
};
constexpr Field kApplyFields[] = {
    {.name = "sql",
     .shape = Shape::kMap,
     .meaning = "SQL statements in the store's own database.",
     .fields = kApplySqlFields,
     .required = true},
};

constexpr Field kArgumentField[] = {{.name = "", .shape = Shape::kArgument, .meaning = ""}};

constexpr Field kExecFields[] = {
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
     .fallback = "5s",
     .low = 0,
     .high = kHour},
    {.name = "honours_key",
     .shape = Shape::kBoolean,
     .meaning = "Declares that the command makes its effect once for each `SEMEL_KEY`, however "
                "often it is run.",
     .fallback = "false"},
};

constexpr Field kHeaderField[] = {
    {.name = "", .shape = Shape::kText, .meaning = "", .secret = true}};
constexpr Field kSecretField[] = {
    {.name = "", .shape = Shape::kText, .meaning = "", .secret = true}};

constexpr Field kSigningFields[] = {
    {.name = "standard_webhooks",
     .shape = Shape::kList,
     .meaning = "Secrets of Standard Webhooks, `whsec_…`; each signs every call, so that the "
                "receiver can change from one to the next.",
     .fields = kSecretField,
     .required = true,
     .comma = true},
};

constexpr Field kHttpFields[] = {
    {.name = "url",
     .shape = Shape::kText,
     .meaning = "Where each message is sent: http or https.",
     .required = true},
    {.name = "method",
     .shape = Shape::kWord,
     .meaning = "The method of the request.",
     .fallback = "POST",
     .words = "POST|PUT|PATCH"},
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
     .fallback = "false"},
    {.name = "idempotency_key_style",
     .shape = Shape::kWord,
     .meaning = "Idempotency-Key in quotes, as its draft asks, or bare.",
     .fallback = "quoted",
     .words = "quoted|bare"},
    {.name = "signing",
     .shape = Shape::kMap,
     .meaning = "How calls are signed. Without it they are not.",
     .fields = kSigningFields,
     .short_form = "standard_webhooks",
     .optional = true},
    {.name = "ca_file",
     .shape = Shape::kPath,
     .meaning = "Certificates (PEM) that are trusted in place of the system's."},
};

constexpr Field kHandlerFields[] = {
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
                                .fallback = "auto",
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
                            .fallback = "30s",
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
    {.name = "strategy",
     .shape = Shape::kWord,
     .meaning = "How the effect is made once. Default: `dedup_table` where the handler runs in the "
                "store's transaction, else `state_machine`.",
     .words = "natural|query|dedup_table|inbox|state_machine"},
    {.name = "unsafe",
     .shape = Shape::kBoolean,
     .meaning = "Allows strategy `query`, which promises nothing.",
     .fallback = "false"},
    {.name = "query",
     .shape = Shape::kMap,
     .meaning = "Of strategy `query`: how it looks.",
     .fields = kQueryFields,
     .short_form = "exists",
     .optional = true},
    kDedup,
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
    {.name = "drain_timeout",
     .shape = Shape::kDuration,
     .meaning = "How long a stop waits for what is in flight.",
     .fallback = "30s",
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
