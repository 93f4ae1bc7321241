#include "config/catalog.h"

namespace semel::config::catalog {
namespace {

constexpr CodePage kBrokerPages[] = {
    {"R300", "no Kafka broker answers",
     "None of the brokers that are known can be reached, or the group's coordinator is away. What "
     "was received goes on; it is waited for, and said when it is back. Nothing is lost: what is "
     "not committed comes again.",
     "Start the broker; or check source.kafka.brokers, the address that the broker advertises, "
     "and security.protocol.",
     "source: { kafka: { brokers: \"kafka-1:9092,kafka-2:9092\", group: billing, topics: [orders] "
     "} }",
     69},
    {"R301", "the Kafka brokers refuse the login",
     "The mechanism, the user or the password is not one that they know. Nothing was read.",
     "Check sasl.mechanism, sasl.username and sasl.password.",
     "properties: { sasl.username: billing, sasl.password: \"${file:/run/secrets/kafka}\" }", 78},
    {"R302", "TLS with the Kafka brokers does not come about",
     "Their certificate is not trusted or not for this name, they ask for one of ours, or they do "
     "not speak TLS at this port.",
     "Check security.protocol, ssl.ca.location and, where they want one, ssl.certificate.location.",
     "properties: { security.protocol: ssl, ssl.ca.location: /etc/ssl/kafka-ca.pem }", 78},
    {"R303", "a Kafka topic is not there",
     "The cluster does not know a topic of source.kafka.topics, or this user may not see it. Semel "
     "makes none. A topic that is deleted under a run is waited for.",
     "Make the topic, or mend its name.",
     "kafka-topics --create --topic orders --partitions 12 --bootstrap-server kafka:9092", 78},
    {"R304", "a right is missing in Kafka",
     "The cluster has lists of who may do what, and this user may not read a topic, or not be a "
     "member of the group.",
     "Allow READ on the topics and READ on the group.",
     "kafka-acls --add --allow-principal User:billing --operation Read --topic orders --group "
     "billing",
     77},
    {"R305", "two members of a Kafka group have one name",
     "group.instance.id makes a member static: it keeps its partitions over a restart. Another "
     "process has joined with the same one, and the broker has shut this one out.",
     "Give each process its own.", "properties: { group.instance.id: \"${HOSTNAME}\" }", 78},
    {"R306", "the members of a Kafka group do not share out in one way",
     "A group has one partition.assignment.strategy, and another member of it has another.",
     "Give all members the same, or name another group. To change it, stop all of them first.",
     "properties: { partition.assignment.strategy: cooperative-sticky }", 78},
    {"R307", "the Kafka group has no offset that is still there",
     "from: fail says not to guess where to begin. The group is new, or the broker has "
     "deleted what it had not read, or the topic was deleted and created anew.",
     "Set the group's offsets with Kafka's own tool; or choose from: earliest or latest.",
     "kafka-consumer-groups --reset-offsets --to-earliest --group billing --topic orders "
     "--execute",
     78},
    {"R308", "a Kafka setting is refused",
     "librdkafka does not know a property, or it or the broker does not take its value.",
     "Mend the property that the message names; librdkafka's CONFIGURATION.md has them all.", "",
     78},
    {"R309", "the Kafka client cannot go on",
     "librdkafka, or the broker, met something that no waiting mends; their own words stand in the "
     "message. What is not committed comes again at the next start.",
     "Read the message; start again.", "", 69},
    {"R310", "no RabbitMQ broker answers",
     "The broker cannot be reached, or the connection to it was lost. It is waited for, and said "
     "when it is back. Nothing is lost: what was not acknowledged comes again, and finds its "
     "record where it was done.",
     "Start the broker; or check host and port of source.rabbitmq.url.",
     "source: { rabbitmq: { url: \"amqp://billing:${PASSWORD}@rabbit:5672\", queue: orders } }",
     69},
    {"R311", "the RabbitMQ broker refuses the login",
     "User or password are not ones that it knows; or the user is guest, who may come from the "
     "broker's own machine alone.",
     "Check the user and the password in source.rabbitmq.url; characters such as @ and / are "
     "written as %40 and %2F.",
     "url: \"amqp://billing:${file:/run/secrets/rabbitmq}@rabbit:5672\"", 78},
    {"R312", "TLS with the RabbitMQ broker does not come about",
     "Its certificate is not trusted or not for this host, it asks for one of ours, a file is not "
     "what it should be, or the port does not speak TLS.",
     "Check host and port of the URL, and tls.ca, tls.cert and tls.key.",
     "rabbitmq: { url: \"amqps://rabbit:5671\", queue: orders, tls: { ca: rabbitmq-ca.pem } }", 78},
    {"R313", "the vhost cannot be entered",
     "The broker has no vhost of that name, or this user may not enter it. The vhost is the last "
     "part of the URL; without one it is the vhost /.",
     "Mend its name, make it, or let the user in.",
     "rabbitmqctl add_vhost shop\nrabbitmqctl set_permissions -p shop billing '' '' '.*'", 78},
    {"R314", "a RabbitMQ queue is not there",
     "The vhost has no such queue, or it was deleted while it was consumed. Semel makes none "
     "unless it is told to.",
     "Make it with its bindings; or let Semel make it, durable and replicated: declare: true.",
     "source: { rabbitmq: { url: \"${AMQP_URL}\", queue: orders, declare: true } }", 78},
    {"R315", "a right is missing in RabbitMQ",
     "The user may enter the vhost, but not read the queue, or with declare: true not configure "
     "it.",
     "Give the user the right to read it.",
     "rabbitmqctl set_permissions -p / billing '' '' 'orders'", 77},
    {"R316", "a RabbitMQ queue that cannot be consumed",
     "Another consumer has it for itself; or it is there and not of the type that declare asks "
     "for; or it is a stream, which brings nothing again that was not acknowledged.",
     "End the other consumer; say queue_type as it is, or leave declare out; read a quorum or "
     "classic queue.",
     "rabbitmq: { url: \"${AMQP_URL}\", queue: orders, declare: true, queue_type: classic }", 78},
    {"R317", "a message was not settled in the broker's time",
     "The broker closes a channel that holds a delivery for longer than its consumer_timeout, 30 "
     "minutes where nobody has said otherwise. What was in flight comes again; what is done by "
     "then finds its record.",
     "Raise consumer_timeout in the broker's rabbitmq.conf, or lower timeout or prefetch.",
     "consumer_timeout = 7200000", 69},
    {"R318", "the RabbitMQ broker does not go on with this client",
     "It has an error that waiting does not resolve; the message has its own words.",
     "Read the message and the broker's log; start again.", "", 69},
    {"R330", "a message that was sent may have arrived, or not",
     "A producer handed the message on, and no answer came within its time limit, or the "
     "connection was lost before it. Nobody can know from here. Sent again under the same key it "
     "does nothing twice where its consumer keeps a record; under another key it would.",
     "Send it again with the key that the error carries, as often as it takes.",
     "message.key = sent.error().key;", 69},
    {"R331", "a message was not sent within the time limit",
     "The destination was away, or took nothing, for as long as the producer may try. It did not "
     "arrive.",
     "Bring the destination back, or give ProducerOptions::time_limit more; then send the message "
     "again, best with the key that the error carries.",
     "semel::Producer producer(to, {.time_limit = std::chrono::minutes(5)});", 69},
    {"R332", "a message cannot be sent",
     "The destination will not take it, however often it is tried: there is no such topic, queue "
     "or endpoint, a right is missing, it is too large, or its key could not arrive as it is. It "
     "did not arrive.",
     "Mend what the message names.", "", 1},
};

}  // namespace

std::span<const CodePage> broker_codes() noexcept { return kBrokerPages; }

}  // namespace semel::config::catalog
