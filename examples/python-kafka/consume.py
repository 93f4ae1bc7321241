"""A consumer of a Kafka topic: a batch of payments is claimed, made and committed in one transaction."""

import os
import sys

import psycopg
from confluent_kafka import Consumer, KafkaError

import semel

consumer = Consumer({
    "bootstrap.servers": os.environ["KAFKA_BROKERS"],
    "group.id": "payments",
    # So that it has its partition again at once after a crash.
    "group.instance.id": "payments-1",
    "auto.offset.reset": "earliest",
    # Offsets are stored after the COMMIT, and committed from time to time.
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
})
consumer.subscribe([sys.argv[1]])

with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
    payments = semel.Transaction(connection, "payments")
    ended = False
    while not ended:
        polled = consumer.consume(10, timeout=1)
        ended = any(one.error() and one.error().code() == KafkaError._PARTITION_EOF for one in polled)
        batch = [one for one in polled if not one.error()]
        claims = payments.claim_many([(one.key().decode(), one.value()) for one in batch]) if batch else []
        for message, held in zip(batch, claims):
            if held.first:
                connection.execute("INSERT INTO payment (id, amount) VALUES (%s, %s)",
                                   (held.key, int(message.value())))
            elif held.outcome in (semel.Outcome.CONFLICT, semel.Outcome.INVALID):
                connection.execute("INSERT INTO put_aside (id, why) VALUES (%s, %s)",
                                   (held.key, held.outcome.value))
            elif not held.settled:
                sys.exit(f"{held.key} is {held.outcome.value}: the batch comes again")
        connection.commit()
        for message in batch:
            consumer.store_offsets(message)
consumer.close()
