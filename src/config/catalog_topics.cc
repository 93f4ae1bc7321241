#include "config/catalog.h"

namespace semel::config {
namespace {

constexpr TopicPage kTopics[] = {
    {"outcomes", "Outcomes: how a delivery ends",
     R"(done        its effect happened now, and is recorded
duplicate   its effect had happened before; nothing ran
busy        another worker holds the key; it comes back later and is never acknowledged
conflict    the key was used with another payload; not executed, kept as a dead letter
retry       not this time; kept by the store and run again when it is due
dead        given up, with a reason; kept as a dead letter for a person
parked      waits for a person to decide; nothing runs it again before
discarded   there was nothing to do: the handler said so, or empty: discard

A handler says a verdict: done, retry, dead or discard. It cannot say duplicate:
the record decides that. A duplicate is normal and no error.

What an HTTP handler's answer means:

2xx                          done; the answer is kept with the record
2xx, JSON with "status":     SUCCESS done, RETRY retry, DROP discard, DEAD_LETTER dead
3xx                          retry, not counted; the consumer waits: endpoint moved
400 413 415 422 431          dead: the same message would be refused again
401 403 404 405 407          retry, not counted; the consumer waits: the endpoint is at fault
410                          the same; of two messages in a row: the consumer is paused
3xx 401 403 404 405 407 410  of a message, while others go well: from the second one on a
                             retry that counts, and nobody waits
409                          retry soon, not counted: it is still busy with this key
3xx 403 404 410              where the URL has places: retry, as any other; so are 404
                             and 410 to a step's undo
any other                    retry; for many messages in a row, and the consumer waits
Retry-After                  the retry waits so long, if retry.backoff is not longer; with
                             429 and 503 the consumer waits too
no connection, no TLS        retry, not counted; several in a row, and the consumer waits
no whole answer              retry; the record remembers that the effect may have happened

While most messages fail in the same way none is spent: each loses one try at most, and
waits until the endpoint works or retry.max_elapsed is over.

  semel dlq list             what is dead, and why
  semel records list --state parked
  semel records show KEY     what is known about a key
  semel tap CONSUMER         deliveries as they end
)"},
    {"guarantees", "Guarantees: what a consumer is promised",
     R"(A promise has four parts: how often the effect happens, what may be lost, under
which faults, until when. semel check prints it for each consumer, from the config.

transactional   effect and record commit together: once, whatever is killed
idempotent      the operation gives the same result each time (as declared)
keyed_retry     may run again after a crash, always with the same key: once where the
                receiver honours it
at_least_once   may run again after a crash
at_most_once    after an unclear outcome a person decides
none            strategy query: no promise

What lowers it: a position or a body's digest as key, fingerprint none, a store that forgets, standard
input (what was read and not finished is lost with the process), a short ttl.
)"},
    {"strategies", "Strategies: how the effect is made once",
     R"(dedup_table     the key is inserted in the same transaction as the effect. Needs a
                handler in the store's transaction: SQL, or C++ with a Transaction.
inbox           the same, and payload, type, times, error and result are kept with it
pessimistic_lock
                as dedup_table, and the business row is locked first (lock.select). Where
                lock.done_when holds the message is a duplicate, whatever its key
optimistic_lock
                as dedup_table, and the version that the message's change is based on is
                compared with the row's: older is a duplicate, newer too early: a retry
state_machine   consuming, with a lease, then completed. Any handler, any store. Effects
                outside of the store may happen again after a crash; a SQL handler
                commits together with completed
fence           as state_machine, for calls of other services: the message is in the store
                before its call, so what a crash left is finished without a redelivery, with
                the same Idempotency-Key. Its effect happens once at a receiver that honours
                the key (honours_key: true), while that remembers it (remote_keeps)
at_most_once    as state_machine, claimed one at a time: a try whose outcome is not known (a
                crash, a lost reply, an exception, a 5xx, a 303) is never repeated. It is
                parked until a person says what became of it:
                semel records unlock KEY --as done, retry or dead
natural         no record at all: for operations that give the same result each time
query           look whether it is there, then act. Two deliveries at once both find
                nothing, so the effect doubles. Only with unsafe: true, to see it

None named: dedup_table where the handler is SQL or takes a Transaction, fence for
HTTP unless the store is memory, else state_machine. semel check says which and why;
semel demo --compare shows the difference.
)"},
    {"exit-codes", "Exit codes",
     R"(0     success; also after a drain
1     the thing asked about is bad
2     usage error
3     a bulk command did a part; the summary says which
4     nothing matched
69    store or source unreachable
70    internal error, or a transactional handler that hung
77    not permitted: this user may not write the store, or read the source, or a right
      is missing there
78    configuration invalid, or a login, database, topic, queue or version that only a
      person can mend; starting again will not
130   interrupted twice

semel explain CODE says with which of them a command ends on that code. A source or a
store that a run waits for, and gives up (--once, on_unavailable: fail), is 69 always;
semel doctor ends with 1 where it found something.
)"},
    {"reasons", "Reasons: why a message is among the dead letters",
     R"(key.missing          no key at any of the places of key.from
key.invalid          null, empty, a fraction, a list or a map where the key should be
key.conflict         the key was used with another payload
too_large            key, headers, payload or result beyond limits
too_old              parked, or discarded: older than records are kept, and without one, so
                     nothing shows whether it is new (dedup.too_old)
crash                it alone was in hand at as many deaths of the process as retry.crashes says
payload.invalid      not JSON, or a param is missing or of another type
trimmed              of a Redis stream: delivered before, and its data is gone by now
version.early        based on a version that the row does not have yet
version.lost         between comparison and write another transaction changed the row
version.missing      the row whose version is compared is not there
version.invalid      the row's version is NULL or no integer, or there are several rows
handler.sql.CLASS    the statement failed: constraint, refused, expect_rows, syntax,
                     busy, other
handler.exec.CODE    the command ended so: its exit code, signal_N, or start
handler.http.STATUS  the endpoint answered so; or connect, reset, invalid, too_large
handler.kafka.WORD   it was not published: too_large, invalid, topic; of tries: connect,
                     timeout, denied, fatal, broker
handler.rabbitmq.WORD  likewise: too_large, invalid; of tries: connect, reset, timeout,
                     blocked, unroutable, exchange, denied, nack, broker
handler.nats.WORD    likewise: too_large, invalid; of tries: connect, reset, timeout,
                     stream, denied, full, server
handler.redis_streams.WORD  likewise: too_large, invalid; of tries: connect, reset,
                     timeout, stream, denied, full, server
handler.sns.WORD     likewise: too_large, invalid; of tries: connect, reset, timeout,
                     topic, denied, credentials, throttled, server
handler.sqs.WORD     likewise: too_large, invalid; of tries: connect, reset, timeout,
                     queue, denied, credentials, throttled, server
handler.native       the C++ handler failed, or said dead
handler.timeout      the handler took too long
attempts.exhausted   retry.attempts tries have failed; cause says why the last one did
elapsed.exhausted    retry.max_elapsed is over
steps.changed        the journal of its steps and the handler disagree: parked
steps.undo           an undo of its steps failed; given up, it is parked
lease.lost           a GuardClaim was ended too late: another holder decides
lease.parked         at_most_once: a try was begun and never ended: a person decides
outcome.unknown      at_most_once: a try failed, and may have had its effect: likewise
operator             somebody said so
store.unavailable    the store could not be reached
front                a duplicate: the window in front of the records knew it (E054)

  semel dlq list --reason crash      semel dlq replay ID
  semel dlq list --reason handler.http.500      the reason, or the cause
)"},
    {"filters", "Filters: which dead letters or records --where means",
     R"(Conditions, joined by and:

  --where 'consumer=orders and reason=handler.http.503 and age>1h'

dead letters    consumer, reason, key, type, error, attempts, age (since it died), cause
records         consumer, state, key, reason, error, attempt, age (since it was first
                met, or completed)

Texts take = and != and ~ (contains, upper and lower case alike); numbers take = != >
< >= <= and ages the last four of these. A value with blanks stands in quotes, and a
quote in quotes is doubled. Completed records match only where the filter says key=…
reason is the reason or the cause: handler.http.500 finds what attempts.exhausted ended.

Dead letters are those that semel dlq list shows: of the config's consumers, or of the
one that is named; with --replayed those that were replayed and are done.

--dry-run shows how many, the oldest, the newest and three samples; --limit N and
--rate 50/s hold back.
)"},
    {"rights", "Rights: what a store's user needs",
     R"(The simplest: the user of the config owns the schema, the database or the prefix. One
without rights to make tables works too: somebody who has them runs semel store init
first, with the same config, and again when a consumer, or its ttl, is new in it.

PostgreSQL, by the owner of the tables:

  GRANT USAGE ON SCHEMA semel TO worker;
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA semel TO worker;
  GRANT USAGE ON ALL SEQUENCES IN SCHEMA semel TO worker;
  ALTER DEFAULT PRIVILEGES IN SCHEMA semel
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO worker;

Such a user cannot begin or drop generations: the owner runs semel store sweep now and
then, at least once in an eighth of the ttl.

MariaDB and MySQL, in the store's database:

  GRANT SELECT, INSERT, UPDATE, DELETE ON * TO 'worker'@'%';

Redis, on the names that begin with the prefix:

  ACL SETUSER worker on >password ~semel:* -@all +info +select +client|setname +evalsha
    +eval +time +get +mget +set +msetnx +getrange +setrange +del +exists +incr +pexpire
    +pttl +hget +hset +hsetnx +hdel +hlen +hkeys +hgetall +hmget +hexists +hincrby +zadd
    +zrem +zrange +zrevrange +zrangebyscore +zrevrangebyscore +zscore +zscan
    +zremrangebyscore +sadd +srem +scard

On a Cluster also +cluster|slots +asking; for wait_replicas +wait; for an operator's
commands, run and doctor +hscan +scan +sismember +memory|usage +config|get +client|id
+client|list. Where a source reads a stream of the same database, +xack and its name.

What the statements of a handler do needs its own rights on the business's tables.
)"},
    {"keys", "Keys: what tells a message from its duplicate",
     R"(The key is the producer's own id of the event: the same on every send, different for
every event. It is looked for at the places of key.from; the first one present wins,
or all together with join: true.

  json:/order/id      a member of the JSON payload, by pointer (RFC 6901)
  header:Name         a header, byte for byte
  cloudevents         source and id of a CloudEvent: headers ce-source and ce-id, else a body of
                      type application/cloudevents+json, or one with specversion, source and id
  idempotency-key     the header Idempotency-Key: "abc" in quotes and abc without are one key
  webhook-id          the header webhook-id
  broker_key          the id that the producer gave the broker
  auto                the four before this line, in their order; also where no key is named
  position            the place in the source: names a copy, not an event
  function            a C++ function of the program

A string is taken unescaped, an integer as it is written; fractions, null, empty text,
lists and maps are refused (key.invalid), and so is a header that stands twice with two
values. A message without a key is a dead letter (key.missing), never handled silently;
missing: fail ends the run instead, and missing: hash_body takes a digest of the body,
so that two events which say the same are one.

A payload without any bytes, as a tombstone of Kafka, has nothing at any pointer: the
next place of key.from is looked at. empty: says whether such a message is handled,
discarded or a dead letter. Framing and compression (Confluent's five bytes, gzip) are
not taken off: the message is a dead letter (payload.invalid) that names them.

The fingerprint tells whether a key that comes again says the same. When it does not, it
is a conflict, not a duplicate. Which one to take:

  body                each byte. A producer or outbox that sends the stored bytes again
  json                what is said: a producer that writes the JSON anew at each send
  [json:/a, json:/b]  these alone: something else differs at each send, as a time sent
  none                nothing: every message of one key is the same, whatever it says

The recipe is remembered by the store. Changing it would make every message new, so it
takes accept: [key_recipe] on the consumer.
)"},
};

}  // namespace

std::span<const TopicPage> topics() noexcept { return kTopics; }

}  // namespace semel::config
