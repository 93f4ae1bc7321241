// Error codes of the SQS source and handler.
#include "config/catalog.h"

namespace semel::config::catalog {

namespace {

constexpr CodePage kSqsPages[] = {
    {"R390", "no SQS answers",
     "The service cannot be reached, or it cannot answer. It is waited for, and said when it is "
     "back. Nothing is lost: what was not deleted comes again when its time to be hidden is over, "
     "and finds its record where it was done.",
     "Check host and port of source.sqs.queue_url, the network, and the proxy of the environment.",
     "source: { sqs: { queue_url: https://sqs.eu-west-1.amazonaws.com/123456789012/orders } }", 69},
    {"R391", "no credentials for SQS",
     "They are looked for in this order: source.sqs.credentials; AWS_ACCESS_KEY_ID and "
     "AWS_SECRET_ACCESS_KEY; a web identity (AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN); the "
     "shared files, ~/.aws/credentials and ~/.aws/config; the container's service; the instance "
     "metadata service. A profile that is named is looked for in the shared files alone. There "
     "are none, or one of these does not give those that it has. Profiles that run a process, log "
     "in by SSO or take over another role are not used.",
     "Export an access key, name a profile that has one, or give the machine a role.",
     "source: { sqs: { queue_url: \"${SQS_URL}\", profile: billing } }", 78},
    {"R392", "SQS does not accept the credentials",
     "The access key is not known or was revoked, a session has expired, or the signature is not "
     "right: the secret is another one, or requests are signed for another region. Credentials "
     "that can be asked for anew were.",
     "Mend the credentials; check source.sqs.region.",
     "source: { sqs: { queue_url: \"${SQS_URL}\", region: eu-west-1 } }", 78},
    {"R393", "a right is missing in SQS",
     "A policy does not let these credentials read the queue, or use the key that encrypts it. "
     "Each "
     "action has a right of its own. One that never worked ends the run; one that was taken away "
     "is "
     "waited for. Where messages are received and not deleted, or not renewed, that is a warning: "
     "what is done comes again as a duplicate, or others receive what is in hand.",
     "Allow sqs:ReceiveMessage, sqs:DeleteMessage, sqs:ChangeMessageVisibility and, for the "
     "queue's retention and redrive policy, sqs:GetQueueAttributes; with KMS also kms:Decrypt.",
     "{ \"Effect\": \"Allow\", \"Resource\": \"arn:aws:sqs:eu-west-1:123456789012:orders\",\n"
     "  \"Action\": [\"sqs:ReceiveMessage\", \"sqs:DeleteMessage\",\n"
     "             \"sqs:ChangeMessageVisibility\", \"sqs:GetQueueAttributes\"] }",
     77},
    {"R394", "an SQS queue is not there",
     "The account has no such queue in that region, or it was deleted while it was read. Semel "
     "makes none.",
     "Make the queue; or mend account, region and name in source.sqs.queue_url.",
     "aws sqs create-queue --queue-name orders", 78},
    {"R395", "a receipt that has expired",
     "A message was handled and recorded, and SQS does not delete it any more: its time to be "
     "hidden was over, so its receipt means nothing. The message comes again, finds its record and "
     "is a duplicate. Nothing happens twice.",
     "Where it happens often, a longer visibility_timeout: the process or the network stands "
     "still for longer than that.",
     "source: { sqs: { queue_url: \"${SQS_URL}\", visibility_timeout: 5m } }", 69},
    {"R396", "SQS takes no more requests for now",
     "There are too many requests, or too many messages of the queue are received and not "
     "deleted: 120,000 of a standard queue. It is asked less often, and said when it goes on.",
     "Fewer processes, or a lower prefetch; a FIFO queue with high throughput.",
     "source: { sqs: { queue_url: \"${SQS_URL}\", prefetch: 100 } }", 69},
    {"R397", "TLS with SQS does not come about",
     "The certificate of the server is not trusted or not for this host, or ca_file is not what "
     "it should be.",
     "Name the certificate authority that signed it, and check the host of queue_url.",
     "source: { sqs: { queue_url: https://sqs.test:9324/0/orders, region: local, ca_file: ca.pem } "
     "}",
     78},
    {"R398", "SQS refuses a request",
     "It has an error that waiting does not resolve; the message has its own words.",
     "Read the message; check the queue's settings.", "", 78},
    {"R399", "this machine's clock is wrong",
     "SQS takes a signature only within some minutes of its own time. It refused one, and its "
     "answer had another time than this machine. Requests are signed with the time of SQS from "
     "then on.",
     "Set the clock, best by NTP.", "timedatectl set-ntp true", 69},
};

}  // namespace

std::span<const CodePage> sqs_codes() noexcept { return kSqsPages; }

}  // namespace semel::config::catalog
