"""Numbers that somebody else states: a constant for comments, the reference for pages."""

import re

from tree import Finding, comments, is_test

_TIMES = r"(?:milli|micro|nano)?seconds?|ms|µs|us|s|minutes?|min|hours?|h|days?|d|weeks?|months?|years?"
_SIZES = r"[kKMG]i?B|(?:kilo|mega|giga)bytes?"
_LIMITS = (r"bytes?|characters?|digits?|slots?|lanes?|shards?|times|attempts?|tries|retries|rows?|messages?|"
           r"records?|connections?|sessions?|threads?|workers?|partitions?|entries|keys?|items?|headers?|"
           r"lines?|files?|crashes|round trips?|per ?cent|calls?|nodes?|tables?|generations?")
_WORDS = (r"two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|sixteen|twenty|thirty|forty|fifty|"
          r"sixty|(?:a |some )?hundred|(?:a |some )?thousand|(?:a |some )?million|half an?|a quarter of an?|"
          r"a third of an?|a tenth of an?")
_DIGITS = r"\d+(?:[,.' ]\d{3})*(?:\.\d+)?"
# A number beside a unit or beside what a limit counts; or behind words that set a limit or a default.
_NUMBER = re.compile(
    rf"(?<![\w.#$%²-])(?:{_DIGITS} ?(?:{_TIMES}|{_SIZES}|{_LIMITS}|%)(?!\w)"
    rf"|(?i:{_WORDS}) (?:{_TIMES}|{_SIZES})(?!\w)"
    r"|(?i:once|twice|times) (?:a|an|each|every|per) (?:second|minute|hour|day)(?!\w)"
    r"|(?i:a|an|one) (?:half|third|quarter|fifth|eighth|tenth) of (?:its|their|the) (?:length|time|ttl|lease)(?!\w)"
    r"|(?i:at most|at least|up to|no more than|more than|less than|fewer than|by default|defaults? (?:is|to|of))"
    r" (?:[2-9]|\d{2,})(?![\w.]))")
# Examples, in quotes or backticks; layouts of bytes, whose parts stand between dots.
_EXAMPLE = re.compile(r'"[^"\n]*"|`[^`\n]*`|“[^”\n]*”')
# A standard, a protocol or a product's version fixes these numbers.
_STANDARD = re.compile(r"\b(?:RFC|ISO|IEEE|FIPS|POSIX|HTTP|AMQP|RESP|UTF-8|SHA-\d+|HMAC|UUIDs?|ULIDs?|"
                       r"(?i:version|section)) ?\d*")


# A field with its default behind it on a page: `in_flight.held` (10000).
_SAID = re.compile(r"`(?P<field>[a-z_]+(?:\.[a-z_]+)+)` \((?P<said>\d[^)\s]*)\)")
# Its row in the reference, which a test compares with the schema.
_ROW = re.compile(r"^\| `(?P<path>[^`]+)` \| [^|]* \| `(?P<default>[^`]*)` \|", re.MULTILINE)
REFERENCE = "docs/config.md"


def page_defaults(tree):
    """A default that a page gives for a field is the one of the reference."""
    rows = _ROW.findall(tree.text(REFERENCE)) if REFERENCE in tree.paths else []
    for path in tree.paths:
        if not path.endswith(".md") or path in (REFERENCE, "CHANGELOG.md"):
            continue
        text = tree.text(path)
        for match in _SAID.finditer(text):
            known = {default for row, default in rows if f".{row}".endswith(f".{match['field']}")}
            if match["said"] not in known:
                yield Finding(path, text.count("\n", 0, match.start()) + 1,
                              f"{match['field']} is not {match['said']} in {REFERENCE}")


# A number on a page, and the code that it comes from. If one changes, the other must.
FACTS = [
    ("docs/guarantees.md", "`auto` is a week,", "src/config/config.h", "kAutoTtl{7 * 24}"),
    ("docs/guarantees.md", "four for [Kafka]", "src/config/config.h", "kAutoTtlOnKafka{28 * 24}"),
    ("docs/sources/kafka.md", "records for 28 days", "src/config/config.h", "kAutoTtlOnKafka{28 * 24}"),
    ("docs/sources/kafka.md", "five seconds to end", "src/sources/kafka/serve.cc", "kDrainOnRevoke{5'000}"),
    ("docs/sources/kafka.md", "once 4 MiB of its partition", "src/sources/kafka/ledger.h", "kMostKept = 4 << 20"),
    ("docs/sources/kafka.md", "`queued.max.messages.kbytes: 16384`", "src/sources/kafka/settings.cc",
     '{"queued.max.messages.kbytes", "16384"}'),
    ("docs/sources/kafka.md", "`queued.min.messages: 100000`", "src/sources/kafka/settings.cc",
     '{"queued.min.messages", "100000"}'),
    ("docs/sources/kafka.md", "`fetch.max.bytes` is 16 MiB", "src/sources/kafka/settings.cc",
     '{"fetch.max.bytes", "16777216"}'),
    ("docs/sources/kafka.md", "`fetch.wait.max.ms` 100", "src/sources/kafka/settings.cc",
     '{"fetch.wait.max.ms", "100"}'),
    ("docs/sources/kafka.md", "gives up after ten seconds", "src/engine/engine.cc", "kPatienceOfOnce{10'000}"),
    ("docs/sources/redis-streams.md", "`--once` gives up after ten seconds", "src/engine/engine.cc", "kPatienceOfOnce{10'000}"),
    ("docs/sources/redis-streams.md", "when 100 entries", "src/core/ack_pace.cc", "kAcksAtOnce = 100"),
    ("docs/sources/redis-streams.md", "at the latest after 2 ms", "src/core/ack_pace.cc", "kAcksWait{2}"),
    ("docs/sources/redis-streams.md", "They look every 5 seconds", "src/sources/redis_streams/serve.cc", "kLongestBetweenSweeps{5'000}"),
    ("docs/sources/redis-streams.md", "It needs Redis 7 or newer", "src/sources/redis_streams/client.cc", "kOldestWithStreams = 7"),
    ("docs/sources/rabbitmq.md", "gives up after ten seconds", "src/engine/engine.cc", "kPatienceOfOnce{10'000}"),
    ("docs/sources/rabbitmq.md", "when 100 messages", "src/core/ack_pace.cc", "kAcksAtOnce = 100"),
    ("docs/sources/rabbitmq.md", "at the latest after 2 ms", "src/core/ack_pace.cc", "kAcksWait{2}"),
    ("docs/sources/rabbitmq.md", "past 30 minutes (W044)", "src/core/rabbitmq_spec.h", "kRabbitmqAckTimeout{30}"),
    ("docs/sources/nats.md", "gives up after ten seconds", "src/engine/engine.cc", "kPatienceOfOnce{10'000}"),
    ("docs/sources/nats.md", "when 100 messages", "src/core/ack_pace.cc", "kAcksAtOnce = 100"),
    ("docs/sources/nats.md", "at the latest after 2 ms", "src/core/ack_pace.cc", "kAcksWait{2}"),
    ("docs/sources/nats.md", "found out within 30 seconds", "src/clients/nats/connection.cc", "kPingInterval{10'000}"),
    ("docs/guarantees.md", "and [SQS](sources/sqs.md)", "src/config/config.h", "kAutoTtlOnSqs{28 * 24}"),
    ("docs/sources/sqs.md", "keeps records for 28 days", "src/config/config.h", "kAutoTtlOnSqs{28 * 24}"),
    ("docs/sources/sqs.md", "in batches of ten", "src/core/sqs_spec.h", "kSqsBatch = 10"),
    ("docs/sources/sqs.md", "when a third of it is over", "src/sources/sqs/ledger.cc", "kShareBeforeRenewal = 3"),
    ("docs/sources/sqs.md", "longer than 12 hours", "src/core/sqs_spec.h", "kSqsLongestHidden{12}"),
    ("docs/sources/sqs.md", "five minutes before they do", "src/clients/sqs/credentials.cc", "kBeforeExpiry{5}"),
    ("docs/sources/sqs.md", "gives up after ten seconds", "src/engine/engine.cc", "kPatienceOfOnce{10'000}"),
    ("docs/sources/sqs.md", "within five minutes", "src/core/sqs_spec.h", "kSqsDeduplicates{5}"),
    ("docs/guide/key.md", "deduplication id | 5 minutes", "src/core/sqs_spec.h", "kSqsDeduplicates{5}"),
    ("docs/sources/nats.md", "duplicate window, 2 minutes", "src/core/nats_spec.h", "kNatsDeduplicates{2}"),
    ("docs/guide/key.md", "duplicate window, 2 minutes", "src/core/nats_spec.h", "kNatsDeduplicates{2}"),
    ("docs/sources/file.md", "(R230) after two seconds", "src/sources/sources.h", "patience{2000}"),
    ("docs/sources/file.md", "not grown for five seconds", "src/sources/file/file_source.cc", "kRenamedFor{5'000}"),
    ("docs/handlers/http.md", "up to five minutes", "src/core/breaker.h", "longest{300'000}"),
    ("docs/handlers/http.md", "ten different messages fail in a row", "src/core/breaker.h", "failures = 10"),
    ("docs/handlers/http.md", "bounded by a day", "src/handlers/http/judge.cc", "kLongestWait{24}"),
    ("docs/front.md", "up to three seconds after the record is gone", "include/semel/front.h",
     "kFrontTrusted{3'000}"),
    ("docs/cli.md", "longer than 1 MiB", "src/tap/wire.h", "kLongestPayload = 1 << 20"),
    ("docs/faults.md", "last sign is 3 seconds old", "src/stores/redis/run_markers.h", "kSure{3'000}"),
    ("docs/stores/redis.md", "more than 3 seconds ago", "src/stores/redis/run_markers.h", "kSure{3'000}"),
    ("docs/stores/redis.md", "forgotten after 30 days", "src/stores/redis/run_markers.cc",
     "kCrashMemory{std::chrono::hours(24 * 30)}"),
    ("docs/stores/redis.md", "over 32 slots", "src/stores/redis/names.h", "kSlots = 32"),
    ("docs/stores/redis.md", "one of 16 lanes", "src/stores/redis/held_rows.h", "kLanes = 16"),
    ("docs/stores/redis.md", "256 entries or", "src/clients/redis/script.h", "kMostKeys = 256"),
    ("docs/stores/redis.md", "about 1 MiB", "src/clients/redis/script.h", "kMostBytes = 1 << 20"),
    ("docs/stores/redis.md", "10 seconds unless told", "src/clients/redis/url.h", "answer_timeout{10'000}"),
    ("docs/stores/redis.md", "within two seconds", "src/stores/redis/store.cc", "kReplicaPatience{2'000}"),
    ("docs/stores/redis.md", "else after half a minute", "src/stores/redis/reservation.h", "expiry{30'000}"),
    ("docs/stores/postgres.md", "stands idle for five minutes", "src/stores/postgres/connect.cc",
     'kIdleInTransaction = "300s"'),
    ("docs/stores/postgres.md", "`connect_timeout`, or ten seconds", "src/stores/postgres/connect.cc",
     "kConnectTimeout{10}"),
    ("docs/stores/postgres.md", "own is waited for five minutes", "src/stores/postgres/connection.cc",
     "kLongestAnswer = std::chrono::minutes(5)"),
    ("docs/stores/postgres.md", "lock for five seconds", "include/semel/postgres.h", "{5'000}"),
    ("docs/stores/mysql.md", "stands idle for five minutes", "src/stores/mysql/wire.cc",
     "idle_transaction_timeout = 300"),
]


def page_facts(tree):
    """A number on a page is the one of the code."""
    for page, said, file, code in FACTS:
        if page not in tree.paths:
            continue
        if said not in re.sub(r"\s+", " ", tree.text(page)):
            yield Finding(page, 1, f"no longer says \"{said}\": mend FACTS in tests/tidy/truth_numbers.py")
        if file not in tree.paths or code not in tree.text(file):
            yield Finding(page, 1, f"says \"{said}\", but {file} no longer has \"{code}\"")


def bare_numbers(tree):
    """A comment in include/ or src/ states no time, size, count, limit or default of our own."""
    for path in tree.code("include", "src"):
        if is_test(path):
            continue
        for line, said in comments(tree.text(path)):
            if "·" in said:
                continue
            plain = _EXAMPLE.sub(lambda m: " " * len(m[0]), said)
            for match in _NUMBER.finditer(plain):
                begin = plain.rfind("\n", 0, match.start()) + 1
                if _STANDARD.search(said[begin:(plain + "\n").find("\n", match.end())]):
                    continue
                yield Finding(path, line + plain.count("\n", 0, match.start()),
                              f"\"{match[0].strip()}\": name the constant, or leave the number out")
