#include "config/catalog.h"

namespace semel::config::catalog {
namespace {

constexpr CodePage kConsumerPages[] = {
    {"D102", "records are kept shorter than a message may still come",
     "A record is what makes a later delivery a duplicate. Once it is forgotten, the next delivery "
     "of its key is new and its effect happens again. Here the config itself says that a message "
     "may be retried for longer than its record is kept; or the source keeps its messages for "
     "longer, as a Kafka topic by its retention.ms and segment.ms together, and whoever sets a "
     "group's offsets back has "
     "the older ones done again. A run asks the brokers at its start: it does not begin where a "
     "ttl is written that is too short, and warns where ttl is auto. Where the broker's own time "
     "says how old a message is, dedup.too_old decides what becomes of one that is too old to be "
     "known: by default it is parked.",
     "Raise dedup.ttl, or lower retry.max_elapsed, or what the source keeps. Knowingly: "
     "accept: [D102].",
     "dedup: { ttl: 7d }", 78},
    {"E025", "two consumers of one name",
     "A record belongs to (consumer, key). Two consumers of one name would take each other's "
     "messages for duplicates.",
     "Give each its own name.", ""},
    {"E026", "standard input for two consumers",
     "A line of standard input can be read once, so each would reach only one of them.",
     "Read a file instead: any number of consumers may.",
     "source: { file: { path: payments.jsonl } }"},
    {"E027", "a Kafka property that Semel does not pass on",
     "Everything under properties goes to librdkafka as it is, but for what would break the "
     "promise: a commit of what was only read loses it in a crash, and an uncommitted "
     "transaction's message has an effect that nobody meant. What has a field of its own is "
     "written there.",
     "Leave it out, or use the field.",
     "kafka: { brokers: \"kafka:9092\", group: billing, topics: [orders], from: earliest }"},
    {"E028",
     "two consumers in one group of Kafka or of a stream, at one queue, or at one NATS durable",
     "The members of a group share a topic's partitions or a stream's entries, and those who read "
     "a queue or a durable its messages, so each message would reach only one of the two "
     "consumers.",
     "Give each consumer a group of its own; or a queue of its own, bound to the same "
     "exchange; or a durable of its own.",
     "group: billing-audit"},
    {"E029", "a delivery tag, or the number of a request, as key",
     "What RabbitMQ has as a position is a delivery tag: it counts the deliveries of one "
     "connection. A message that comes again has another one, so no duplicate would ever be found. "
     "The redelivered flag is no count either, and says nothing of a producer that sends twice. An "
     "HTTP source numbers the requests that come: one that is sent again has another number.",
     "Use an id that the producer gave the message: in its body, in a header, or as its "
     "message-id.",
     "key: json:/id\nkey: broker_key   # the message-id"},
    {"E030", "strategy, handler and store do not fit together",
     "Each strategy promises something that needs a certain ground. dedup_table, inbox, "
     "pessimistic_lock and optimistic_lock commit the effect together with the record, so the "
     "handler must work in the store's own transaction; statements need a store with a database; "
     "the queue is a table of the store; "
     "query promises nothing and is only taken with unsafe: true.",
     "Choose one of the strategies that the message names, or another store or handler. "
     "semel explain strategies has the whole picture.",
     "store: { sqlite: { path: semel.db } }\nconsumers:\n  - strategy: dedup_table"},
    {"E031", "no key",
     "The key is what tells a message from its duplicate. A file and standard input carry none of "
     "their own, and a position in them names a copy, not an event: sent again, the same event "
     "stands elsewhere. At run time: a message without a key ended the run, as missing: fail asks.",
     "Say where the producer's own id stands in the message: a standard's place is key: auto. "
     "Knowingly: key: { missing: hash_body } takes a digest of the body, so that two events which "
     "say the same are one.",
     "key: json:/id\nkey: { from: [json:/order/id, json:/line], join: true }"},
    {"E032", "not a place where a key or value is found",
     "A key part is json:/pointer (RFC 6901: / before each step, ~1 for a slash in a name), "
     "header:Name, cloudevents, idempotency-key, webhook-id, broker_key, auto, position or "
     "function. Params and fingerprint fields are json:/pointer. What admin.mask hides is "
     "json:/pointer or header:Name.",
     "Write it in one of these forms.", "key: { from: [header:Idempotency-Key, json:/id] }"},
    {"E033", "not what messages are ordered by",
     "An ordering key is what the messages of one order share: the account, the article, the "
     "customer. An id of the message is another for each of them, and orders nothing.",
     "Name the member or header that they share.",
     "order: { key: json:/sku, on_failure: hold_key }"},
    {"E034", "a statement that a handler may not run",
     "Admitted is one SELECT, INSERT, UPDATE, DELETE, REPLACE, VALUES or WITH. The transaction "
     "belongs to the record: COMMIT, ROLLBACK, PRAGMA, ATTACH and DDL would end it or slip past "
     "it, and tables named semel_… are the store's own.",
     "Split several statements into several items; make tables beforehand.",
     "statements:\n  - UPDATE account SET balance = balance + :amount WHERE id = :account"},
    {"E035", "a :name that params does not have",
     "Every :name in a statement takes its value from the message, at the place that params "
     "gives.",
     "Add the name to params, or mend the spelling.",
     "params: { account: json:/account, amount: json:/amount }"},
    {"E036", "a param that no statement uses",
     "A param is required of every message: one that lacks it becomes a dead letter with reason "
     "payload.invalid. For a param that nothing uses that would be for nothing.",
     "Remove it, or use it.", ""},
    {"E037", "not a unique constraint",
     "A constraint is named by its table and columns, as the database reports it.",
     "Write table(column, …) before the colon.",
     "on_unique_violation: { order_log(order_id): duplicate }"},
    {"E038", "a setting without the one it belongs to",
     "query belongs to strategy query, which looks a row up before it acts and needs to know how; "
     "lock to pessimistic_lock, which needs to know the row, and version to optimistic_lock, which "
     "needs to know both versions; otherwise belongs to expect_rows; admin.mask, which names what "
     "is hidden, to admin.payloads: masked, and admin.tls to admin.listen.",
     "Write both, or neither.",
     "strategy: query\nunsafe: true\nquery: { exists: \"SELECT 1 FROM order_log WHERE id = :id\" "
     "}"},
    {"E039", "a SELECT that guards no row",
     "pessimistic_lock and optimistic_lock read the business row before the handler's statements. "
     "lock.select is one SELECT from a table that ends with FOR UPDATE, so that the row stays as "
     "it was read; NOWAIT and SKIP LOCKED would take a row that somebody holds for one that is not "
     "there. version.current is one SELECT from the table that the handler writes: a write that "
     "changes no row there has lost against another transaction, and is tried again.",
     "Read the row from its own table, by its id.",
     "lock:\n  select: SELECT status FROM orders WHERE id = :id FOR UPDATE\n"
     "  done_when: status = 'PAID'\nversion:\n  from: json:/version\n"
     "  current: SELECT version FROM invoice WHERE id = :id"},
    {"E040", "a message that cannot be sent there",
     "publish and dead_letter.copy_to name consumers of the same file whose source is the queue: "
     "what is sent is a row of that queue, written by the commit that records the message it came "
     "of. Another consumer's messages come from elsewhere, and one that sends to itself, or back "
     "to who sends to it, would never come to an end.",
     "Name a consumer with source: queue. What it does with the messages is its handler's: a "
     "publishing one brings them to a topic, a queue of a broker or an endpoint.",
     "consumers:\n  - name: orders\n    publish: [mails]\n  - name: mails\n"
     "    source: { queue: {} }\n    handler: { http: https://mail.example.com/send }"},
    {"E050", "an endpoint that cannot be called",
     "A message is sent to an http or https URL with a host. Nothing else is: no file, no other "
     "protocol. What stands behind # never leaves the program, so it is refused too.",
     "Write the whole URL.", "handler: { http: https://example.com/hooks/orders }"},
    {"E051", "a header that a config cannot set",
     "The name is none, or it is one that Semel sends itself and receivers rely on "
     "(Idempotency-Key, webhook-…, semel-…, ce-…, traceparent), or one that belongs to the "
     "connection (Host, Content-Length). A value is one line: a line end would begin another "
     "header.",
     "Choose another name, or leave it out.",
     "headers: { Authorization: \"Bearer ${file:/run/secrets/token}\" }"},
    {"E052", "not a signing secret",
     "A secret of Standard Webhooks is whsec_ and base64 behind it, as the receiver's side shows "
     "it. Several may stand while one is replaced by the next.",
     "Take it as it is, best from a file.",
     "signing: { standard_webhooks: \"${file:/run/secrets/whsec}\" }"},
    {"E053", "a consumer that publishes to where it reads",
     "Its handler publishes to the topic, queue, stream or subject that its source reads, so each "
     "message would come back to it, for ever.",
     "Publish to another one.",
     "source: { kafka: { brokers: a:9092, group: g, topics: [orders] } }\n"
     "handler: { kafka: { brokers: a:9092, topic: orders-checked } }"},
    {"E054", "a front window where it cannot stand",
     "A front window answers that a key is completed before its record is asked. It stands before "
     "records only: the strategies natural and query have none. Messages of the queue come from "
     "the store itself, where a duplicate costs no way of its own. And what it knows must not "
     "outlive the record that it speaks for.",
     "Leave front out, or give it a ttl no longer than that of the records.",
     "front: { memory: {}, ttl: 10m }"},
    {"E055", "an admin listener that anybody may ask",
     "Metrics and health say what a service does, and how much. An address that other machines "
     "reach needs a token that its clients send, and a token that can be guessed is none.",
     "Give admin.auth.tokens a secret of 16 characters or more, or listen on this machine alone.",
     "admin: { listen: 127.0.0.1:8585 }"},
    {"E056", "a collector that cannot be called",
     "Spans are sent to an http or https URL with a host, the same for all of them: it has no "
     "place for a part of a message. A user or password in it would be shown with it.",
     "Write the URL of the collector's OTLP receiver over HTTP, and secrets into headers.",
     "traces: { otlp: http://127.0.0.1:4318 }"},
    {"E057", "a consumer that is claimed over HTTP, and what does not go with it",
     "Clients claim the keys of a consumer whose source is claims, and do its work: it has no key "
     "recipe and no handler, and its strategy is state_machine. A client needs a token whose "
     "claims name the consumer, and only such consumers stand there.",
     "Leave out what the message names, or give a token of admin.auth.tokens the consumer's name.",
     "admin: { auth: { tokens: [{ name: mailer, secret: \"${file:token}\", claims: [mails] }] } }\n"
     "consumers: [{ name: mails, source: { claims: {} } }]"},
    {"E065", "two listeners at one address",
     "An HTTP source, and the listener for metrics and dashboard, each listen on an address of "
     "their own.",
     "Give each a port of its own.",
     "consumers:\n  - name: orders\n    source: { http: { listen: 127.0.0.1:8080 } }\n"
     "  - name: mails\n    source: { http: { listen: 127.0.0.1:8081 } }"},
    {"E066", "an answer that an HTTP source cannot give",
     "In mode completed a request is answered when its message is recorded as done, with what the "
     "handler said, and a duplicate with the same. Strategy fence and defer keep messages in the "
     "store first, and a front window knows no answers. missing: fail would let any sender end the "
     "run.",
     "Take mode accepted, or what the message names.",
     "source: { http: { listen: 127.0.0.1:8080, mode: accepted } }"},
    {"E060", "the program has no such handler or source",
     "The config asks for a C++ handler or source by name, and none was registered under it. The "
     "semel program itself has none.",
     "Register it with Runner::on or Runner::source, write the handler in SQL, or run a command.",
     "runner.on(\"payments\", [](const semel::Message& m, semel::Transaction& tx) { … });"},
    {"E061", "the handler does not fit the consumer's strategy",
     "dedup_table, inbox, pessimistic_lock and optimistic_lock need a handler that takes a "
     "Transaction; the handler that was registered takes none, or the other way round.",
     "Name another strategy, or register another kind of handler.", ""},
    {"E062", "registered for no consumer",
     "A handler, source or key function was given to the runner under a name that the config does "
     "not have: most likely one of the two is misspelt.",
     "Use the name that stands in the config.", "handler: { native: on_payment }"},
    {"E063", "steps that cannot be kept",
     "What a finished step came to is journalled in the store, under the lease of its message. The "
     "strategy has no lease, or the steps themselves cannot be: two of one name, or an undo of "
     "none.",
     "Use fence or state_machine, and a name of its own for each step.",
     "strategy: fence\n"
     "handler: { steps: [ { name: lock_stock, http: { url: http://stock/lock } } ] }"},
    {"E064", "an adapter that this build lacks",
     "Semel can be built without some of its stores, sources and handlers, so that their libraries "
     "need not be there. The config, or a call, names one of those.",
     "Build it with the option that the message names, or with ./setup, which takes them all.",
     "cmake -B build -DSEMEL_TESTS=OFF -DSEMEL_WITH_KAFKA=ON"},
    {"E067", "a call while the runner runs",
     "A Runner is set up before its run, and not during it: a consumer or a handler that came in "
     "between would be known to a part of the run only. Nothing was changed. Runner::stop is the "
     "one call that may come at any time.",
     "Make the call before run, or after it has returned; a second run at the same time needs a "
     "second Runner.",
     "runner.add({…}).add({…});\nrunner.run();"},
    {"E068", "a source that is not what it declares",
     "FromOwn declares the traits of the sources that its factory makes, because guarantee and "
     "retention are computed before there is one. A source that returns others, or none, or one "
     "that claims to read the rows of the store (in_store), would make them wrong.",
     "Return one constant from Source::traits, and give the same to FromOwn.",
     ".source = semel::FromOwn{MySource::kTraits, make_my_source}"},
    {"E069", "something that a runner cannot take",
     "What a Runner was given contradicts itself: a consumer in code where a config has them all, "
     "an apply without the handler before it, a key_function beside a key that does not look "
     "there, a store that is none. Nothing was changed.",
     "Do what the message says.",
     ".key = {\"function\", \"json:/id\"},\n.key_function = key_of_order"},
};

}  // namespace

std::span<const CodePage> consumer_codes() noexcept { return kConsumerPages; }

}  // namespace semel::config::catalog
