#include "config/catalog.h"

// Error codes of the HTTP source: R320 and R321 end a start, the others occur in its answers.
namespace semel::config::catalog {
namespace {

constexpr CodePage kHttpPages[] = {
    {"R320", "an HTTP source cannot listen",
     "Another program, or another run, has the address; or it is no address of this machine; or "
     "the user may not listen there.",
     "Give another address or port, or stop the program that has it.",
     "source: { http: { listen: 127.0.0.1:8081 } }", 69},
    {"R321", "the certificate of an HTTP source cannot be used",
     "The files of tls cannot be read, are not in PEM format, or the key is not that of the "
     "certificate.",
     "Name a certificate, with those that lead to its authority behind it, and its key, which this "
     "user may read.",
     "tls: { certificate: /etc/semel/tls.pem, key: /etc/semel/tls.key }", 78},
    {"R322", "an HTTP source has no end, and no dry run",
     "run --once ends when its sources do, and requests may always come. A dry run settles "
     "nothing: who sends a request would wait for an answer in vain.",
     "Run it without --once and --dry-run; or ask the consumers without such a source.",
     "semel run semel.yaml", 78},
    {"R323", "a request is not signed as it should be",
     "It has no signature, or one that none of the secrets makes of these bytes, or its time is "
     "too far from now: it may have been sent again by somebody who overheard it. It was answered "
     "403; nothing was stored.",
     "Compare the sender's secret with the one of source.http.signature; while it is changed, both "
     "may be listed. Where a proxy changes bodies, let it pass them on as they are. Where the "
     "clocks differ, set them, or raise tolerance.",
     "signature: { standard_webhooks: [\"${file:/run/secrets/new}\", \"${file:/run/secrets/old}\"] "
     "}",
     0},
    {"R324", "a request is not one that this source takes",
     "It goes to another path (404) or by another method than POST (405), its body is compressed "
     "(415), or its head is not one that can be read in one way only: a header of the key or of "
     "the signature twice (400). Or its message has no key, or a body that is not what the "
     "consumer reads (400): that one is kept as a dead letter.",
     "POST to source.http.path, with the key that the answer names.",
     "curl -H 'Idempotency-Key: p-1' -d '{}' http://127.0.0.1:8080/", 0},
    {"R325", "a request is too large",
     "Its body has more bytes than the consumer takes as a payload, or a batch of CloudEvents has "
     "more events than max_batch or max_requests allow, or headers that are larger than that when "
     "each event has them. It was answered 413; nothing was stored.",
     "Send less, or raise limits.payload, source.http.max_batch or max_requests.",
     "limits: { payload: 32MiB }", 0},
    {"R326", "no request can be taken now",
     "The store is away, or the run ends, or as many requests are in hand as it takes, or the "
     "message waited for its turn in vain, or its handler said that it is to be tried again. It "
     "was answered 503 with Retry-After; nothing has happened that would not happen once.",
     "Send it again, under the same key, after the time that the answer says.", "", 0},
    {"R327", "the key of a request is busy",
     "Another worker has a message of this key in hand, or its record waits for a person to "
     "decide. It was answered 409.",
     "Send it again later, under the same key. semel records list --state parked shows what waits "
     "for a person.",
     "", 0},
    {"R328", "the message of a request was not handled",
     "Its key was used before with another payload; or its handler gave it up. It was answered 422 "
     "and is kept as a dead letter: to send it again changes nothing.",
     "Use a key once for one payload. semel dlq list shows why a message was given up.", "", 0},
    {"R329", "an answer was not ready in time",
     "The message is being handled, for longer than source.http.timeout. The request was answered "
     "504; the message goes on.",
     "Send it again under the same key: it is answered with what came of it. Raise timeout where "
     "handlers take as long.",
     "source: { http: { listen: 127.0.0.1:8080, timeout: 2m } }", 0},
};

}  // namespace

std::span<const CodePage> http_source_codes() noexcept { return kHttpPages; }

}  // namespace semel::config::catalog
