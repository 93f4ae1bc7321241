"""Sends payments, each twice, kills their consumer again and again, and counts what it made."""

import os
import random
import signal
import subprocess
import sys
import time
import uuid

import psycopg
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

PAYMENTS, KILLS = 3000, 20
topic = "payments-" + uuid.uuid4().hex
brokers = {"bootstrap.servers": os.environ["KAFKA_BROKERS"]}

admin = AdminClient(brokers)
admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
producer = Producer({**brokers, "queue.buffering.max.messages": 10 * PAYMENTS})
sent = [(f"p-{i}", str(i)) for i in range(PAYMENTS)] * 2
random.shuffle(sent)
for key, amount in [*sent, ("p-0", "1000000")]:
    producer.produce(topic, amount, key)
producer.flush()

with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as database:
    database.execute("CREATE TABLE payment (id text NOT NULL, amount bigint NOT NULL);"
                     "CREATE TABLE put_aside (id text NOT NULL, why text NOT NULL)")

    def count(of="*"):
        return database.execute(f"SELECT count({of}) FROM payment").fetchone()[0]

    words = [sys.executable, "consume.py", topic]
    for _ in range(KILLS):
        before = count()
        consumer = subprocess.Popen(words)
        # It is somewhere in a batch once another one is made.
        while count() == before:
            if consumer.poll() is not None:
                sys.exit(f"it ended with {consumer.returncode} before it was killed")
            time.sleep(0.005)
        consumer.kill()
        if consumer.wait() != -signal.SIGKILL:
            sys.exit("the kill came too late")
    subprocess.run(words, check=True)
    print(f"killed {KILLS} times")
    print(f"payments: {count()}, different ones: {count('DISTINCT id')}")
    aside = database.execute("SELECT id, why FROM put_aside GROUP BY id, why").fetchall()
    print("put aside:", *(f"{key}, {why}" for key, why in aside))
