#include "config/catalog.h"

namespace semel::config::catalog {
namespace {

constexpr CodePage kWarningPages[] = {
    {"W031", "a literal secret",
     "A password, token or signing secret stands in the config itself, and others may read the "
     "file; or it stands in a URL, where it is shown with the URL.",
     "Keep it in a file or variable of its own, or let only this user read the config. Knowingly: "
     "accept: [W031].",
     "headers: { Authorization: \"Bearer ${file:/run/secrets/token}\" }"},
    {"W032", "a key part that sounds different each time",
     "A key must be the same on every send of one message. An attempt number or a time of sending "
     "is not, so every redelivery would be new and its effect would happen again.",
     "Use the id that the producer gave the message. Knowingly: accept: [W032].", "key: json:/id"},
    {"W033", "a position as key",
     "A position (line, offset) names a copy of a message in this source. It finds a redelivery of "
     "that copy, but the same event written a second time stands elsewhere and is new. The "
     "guarantee is lowered accordingly.",
     "Use an id of the message. Knowingly: accept: [W033].", "key: json:/id"},
    {"W034", "a queue without a key recipe",
     "semel send may give each message its key, and a CloudEvent or a message with one of the "
     "headers of key: auto has one. Any other becomes a dead letter with reason key.missing. "
     "Requests of Stripe and GitHub have none of them.",
     "Say where the key stands in the message. Knowingly: key: auto, or accept: [W034].",
     "key: json:/id"},
    {"W035", "retries without any limit",
     "With neither attempts nor max_elapsed, a message that can never succeed is tried for ever "
     "and never shows among the dead letters.",
     "Set one of the two. Knowingly: accept: [W035].", "retry: { attempts: 8 }"},
    {"W036", "tokens in clear text",
     "Other machines reach the admin listener, and it speaks plain HTTP: whoever sees the network "
     "in between reads the tokens, and may then do what they allow.",
     "Give it a certificate, or let a proxy with TLS on the same machine be the only one that "
     "reaches it.",
     "admin: { listen: :8585, tls: { certificate: /etc/semel/cert.pem, key: /etc/semel/key.pem } "
     "}"},
    {"W037", "a private key that everybody may read",
     "Every user of this machine may read the file of the key that a listener's TLS has, and can "
     "stand in for the listener. The run begins all the same.",
     "Let only the user of the run read it, or a group of it. Of an HTTP source knowingly: accept: "
     "[W037].",
     "chmod 640 /etc/semel/key.pem\nchgrp ssl-cert /etc/semel/key.pem"},
    {"W041", "a very short lease",
     "A lease is a worker's right to a key, renewed while it lives. When the process pauses for "
     "longer than that (a busy machine, a debugger), another worker takes the message and its "
     "effect may happen twice.",
     "Seconds to minutes: it is also how soon the message of a crashed worker is taken over. "
     "Knowingly: accept: [W041].",
     "dedup: { lease: 60s }"},
    {"W042", "a long timeout inside of a transaction",
     "A transactional handler holds the store's write lock while it runs, and SQLite has one: "
     "everything else that writes to the database waits. On a server what waits is whatever "
     "changes the same rows.",
     "Do the slow part outside of the transaction. Knowingly: accept: [W042].",
     "strategy: state_machine"},
    {"W043", "fewer messages in flight than in a batch",
     "A batch is made of what has been received; it can never hold more than in_flight allows.",
     "Raise in_flight.messages or lower batch.max. Knowingly: accept: [W043].",
     "in_flight: { messages: 1000 }"},
    {"W044", "a timeout past the broker's patience",
     "RabbitMQ closes the channel of a consumer that has not acknowledged a delivery for "
     "consumer_timeout, 30 minutes where nobody has said otherwise. All that was in flight there "
     "comes again. What waits behind others in the same hands waits too: prefetch times the time "
     "of one message, divided by how many run at a time, has to stay below it.",
     "Lower timeout, or raise consumer_timeout in the broker's rabbitmq.conf. Knowingly: accept: "
     "[W044].",
     "timeout: 10m"},
    {"W045", "an endpoint that forgets keys too soon",
     "Each call for a message has the same Idempotency-Key, and a receiver that honours keys does "
     "nothing again under one that it knows. It knows it for remote_keeps. A retry that comes "
     "later is a new call there, and its effect happens twice.",
     "Lower retry.max_elapsed to what the receiver remembers. Knowingly: accept: [W045].",
     "retry: { max_elapsed: 24h }\nhandler: { http: { url: https://pay.example.com/charge, "
     "honours_key: true, remote_keeps: 24h } }"},
    {"W046", "a key that shows what is masked",
     "admin.mask hides a place of the payload, or a header, from those who look at the run. The "
     "consumer takes its key from there, and keys are shown: in lists, in errors, in the log. The "
     "mask hides nothing.",
     "Take the key from an id that people may see. Knowingly: accept: [W046].",
     "key: json:/payment_id\nadmin: { mask: [json:/card/number] }"},
    {"W047", "an HTTP source that anybody may send to",
     "The address is reached by other machines, and no request has to be signed: anybody who "
     "reaches it can have messages handled and fill the dead letters.",
     "Let senders sign (signature), or listen on this machine alone, behind a proxy that knows "
     "who may send. Knowingly: accept: [W047].",
     "source: { http: { listen: 127.0.0.1:8080 } }"},
    {"W048", "an order on a stream, and a new name for each run",
     "Entries are pending for the member that they were delivered to. What a run had in hand when "
     "it died is taken over once its name has been silent for claim_after; the next run, which has "
     "another name, reads on meanwhile. So later entries of a key may be handled before those.",
     "Give the process a name that it has again after a restart: it then begins with what is "
     "pending for it. Knowingly: accept: [W048].",
     "source: { redis_streams: { …, consumer: billing-1 } }"},
    {"L101", "a statement adds to a column",
     "SET n = n + 1 gives another result each time it runs: it is not idempotent by itself. Under "
     "dedup_table, inbox and state_machine it is safe: it commits in one transaction with the "
     "record, and a duplicate finds the record and does not run it. Under natural and query "
     "nothing keeps it from running twice.",
     "Set the value it shall have, or use a strategy with a record. Knowingly: accept: [L101].",
     "UPDATE account SET balance = :new_balance WHERE id = :account"},
    {"L102", "a statement inserts without looking",
     "Run twice it inserts two rows, unless a unique key refuses the second. Under a strategy with "
     "a record it runs once.",
     "Name the conflict, with a unique key on the message's id. Knowingly: accept: [L102].",
     "INSERT INTO order_log(order_id, qty) VALUES (:id, :qty) ON CONFLICT (order_id) DO NOTHING"},
};

}  // namespace

std::span<const CodePage> warning_codes() noexcept { return kWarningPages; }

}  // namespace semel::config::catalog
