#include "config/catalog.h"

namespace semel::config::catalog {
namespace {

constexpr CodePage kNatsPages[] = {
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
     "has its effect again.",
     "Make it; or let Semel make the consumer: declare: true.",
     "nats consumer add orders billing --pull --ack explicit --max-deliver=-1", 78},
    {"R385", "a right is missing in NATS",
     "The user may log in, and not publish where JetStream is asked and answered, or not subscribe "
     "to its answers.",
     "Allow it to publish on $JS.API.> and $JS.ACK.>, and to subscribe to _INBOX.>.",
     "permissions: { publish: [\"$JS.API.>\", \"$JS.ACK.>\"], subscribe: \"_INBOX.>\" }", 77},
    {"R386", "a NATS consumer that cannot be read",
     "The server pushes to it, or an acknowledgement there speaks for other messages too, or for "
     "none: only a pull consumer with explicit acknowledgements keeps what is not done. Or the "
     "account may have no more consumers.",
     "Make one that is pulled from, with explicit acknowledgements.",
     "nats consumer add orders billing --pull --ack explicit --max-deliver=-1", 78},
    {"R387", "JetStream refuses a request",
     "It met something that no waiting mends; its own words stand in the message.",
     "Read the message and the server's log; start again.", "", 69},
};

}  // namespace

std::span<const CodePage> nats_codes() noexcept { return kNatsPages; }

}  // namespace semel::config::catalog
