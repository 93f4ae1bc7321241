#include "config/catalog.h"

namespace semel::config::catalog {
namespace {

constexpr CodePage kNatsPages[] = {
    {"D121", "what is in hand is not held for long enough",
     "A NATS server brings a delivery again when it was not renewed within the consumer's "
     "ack_wait, "
     "or within the shortest time of its backoff. Semel renews what is in hand at a third of it; a "
     "process that stands still for longer, or a network that does, has its messages worked on "
     "twice at a time. The record sees to it that they are not done twice.",
     "Give the consumer some seconds.", "nats consumer edit orders billing --wait=30s", 1},
    {"D122", "the broker gives a message up before Semel does",
     "A NATS consumer with max_deliver never brings again what it has delivered so often, and "
     "makes "
     "no dead letter of it. An SQS queue with a redrive policy moves a message that was received "
     "maxReceiveCount times to its dead-letter queue. Retries use up none, for they wait in the "
     "store; processes that die with the message in hand do, and so does a connection that breaks. "
     "Semel counts those deaths as well, and makes a dead letter with the payload and the reason "
     "after at most two deaths in groups and retry.crashes deaths alone, which is delivery "
     "retry.crashes + 4. Where the broker is quicker, no dead letter says so, and "
     "innocent neighbours that were in the same hands each time are gone as well.",
     "Take NATS's limit away, or set it far above retry.crashes; raise maxReceiveCount of SQS to "
     "retry.crashes and four more at the least, and better to twice that: runs that end and "
     "connections that break use some up as well.",
     "nats consumer edit orders billing --max-deliver=-1\n"
     "{ \"deadLetterTargetArn\": \"arn:aws:sqs:eu-west-1:123456789012:dead\", "
     "\"maxReceiveCount\": 14 }",
     1},
    {"D123", "a broker may forget what it has taken",
     "What a stream keeps in memory, or on one server only, is lost with it. A NATS server writes "
     "a "
     "message to its file at once and syncs the file later, by its sync_interval: of what it has "
     "acknowledged to publishers the last part is lost where the machine loses its power. A client "
     "cannot ask for that setting. Semel does nothing twice for it, and cannot do what never "
     "comes.",
     "Keep the stream in files on three servers; or set sync_interval to always.",
     "nats stream edit orders --replicas=3\njetstream { sync_interval: always }", 1},
    {"R380", "no NATS server answers",
     "The server cannot be reached, or the connection to it was lost, or JetStream does not answer "
     "there. It is waited for, and said when it is back. Nothing is lost: what was not "
     "acknowledged comes again, and finds its record where it was done.",
     "Start the server; or check host and port of source.nats.url.",
     "source: { nats: { url: \"nats://nats:4222\", stream: orders, durable: billing } }", 69},
    {"R381", "the NATS server refuses the login",
     "User, password, token or credentials are not ones that it knows, or the file of credentials "
     "cannot be read.",
     "Check them; characters such as @ and / are written as %40 and %2F in the URL.",
     "url: \"nats://billing:${file:/run/secrets/nats}@nats:4222\"", 78},
    {"R382", "TLS with the NATS server does not come about",
     "Its certificate is not trusted or not for this host, it asks for one of ours, a file is not "
     "what it should be, or one of both speaks no TLS.",
     "Check host and port of the URL, and tls.ca, tls.cert and tls.key.",
     "nats: { url: \"tls://nats:4222\", stream: orders, durable: billing, tls: { ca: nats-ca.pem } "
     "}",
     78},
    {"R383", "there is no JetStream",
     "No server there has JetStream, or the account of this login may not use it. A NATS server "
     "without it keeps no message.",
     "Switch it on in the server's config, and for the account.",
     "jetstream { store_dir: /var/lib/nats }", 78},
    {"R384", "a NATS stream or its consumer is not there",
     "The account has no such stream, or the stream no such durable consumer; or it was deleted "
     "while it was read. Semel makes no stream, and a consumer only where it is told to. A "
     "consumer that is made anew brings all of the stream again: what is older than the records "
     "is not known any more (dedup.too_old).",
     "Make it; or let Semel make the consumer: declare: true.",
     "nats consumer add orders billing --pull --ack explicit --max-deliver=-1", 78},
    {"R385", "a right is missing in NATS",
     "The user may log in, but not publish requests and acknowledgements to JetStream, or not "
     "subscribe to its answers.",
     "Allow it to publish on $JS.API.> and $JS.ACK.>, and to subscribe to _INBOX.>.",
     "permissions: { publish: [\"$JS.API.>\", \"$JS.ACK.>\"], subscribe: \"_INBOX.>\" }", 77},
    {"R386", "a NATS consumer that cannot be read",
     "The server pushes to it, or an acknowledgement there speaks for other messages too, or for "
     "none: only a pull consumer with explicit acknowledgements keeps what is not done. Or the "
     "account may have no more consumers.",
     "Make one that is pulled from, with explicit acknowledgements.",
     "nats consumer add orders billing --pull --ack explicit --max-deliver=-1", 78},
    {"R387", "JetStream refuses a request",
     "It has an error that waiting does not resolve; the message has its own words.",
     "Read the message and the server's log; start again.", "", 69},
};

}  // namespace

std::span<const CodePage> nats_codes() noexcept { return kNatsPages; }

}  // namespace semel::config::catalog
