"""Sends payments to a Celery worker, each twice, kills the worker again and again, and counts what it made."""

import os
import random
import signal
import subprocess
import sys
import time
import uuid

import psycopg

os.environ["QUEUE"] = "payments-" + uuid.uuid4().hex
import tasks  # noqa: E402

PAYMENTS, KILLS = 150, 4
PATIENCE = 60
WORKER = [sys.executable, "-m", "celery", "-A", "tasks", "worker", "--pool", "solo", "--without-gossip",
          "--without-mingle", "--without-heartbeat", "--loglevel", "INFO"]


class Worker:
    """Its log says of each delivery that it ended."""

    def __enter__(self):
        self.process = subprocess.Popen(WORKER, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        return self

    def wait_for(self, deliveries):
        for line in self.process.stderr:
            deliveries -= " succeeded in " in line
            if deliveries == 0:
                return
        sys.exit(f"the worker ended with {self.process.wait(PATIENCE)}")

    def __exit__(self, *error):
        self.process.kill()
        self.process.communicate()
        if self.process.returncode != -signal.SIGKILL:
            sys.exit("the kill came too late")


sent = [(f"p-{i}", i) for i in range(PAYMENTS)] * 2
random.shuffle(sent)
for payment in sent:
    tasks.pay.delay(*payment)

with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as database, \
        tasks.app.connection() as broker:
    database.execute("CREATE TABLE payment (id text NOT NULL, amount bigint NOT NULL)")

    def count(of="*"):
        return database.execute(f"SELECT count({of}) FROM payment").fetchone()[0]

    def waiting():
        """How many deliveries are to come, those of a dead worker among them."""
        while True:
            queue = broker.default_channel.queue_declare(os.environ["QUEUE"], passive=True)
            if queue.consumer_count == 0:
                return queue.message_count
            time.sleep(0.02)

    def cut_a_payment():
        """Ends the worker's session in a payment, which waits for the table meanwhile."""
        with psycopg.connect(os.environ["DATABASE_URL"]) as owner:
            owner.execute("LOCK TABLE payment")
            while not database.execute("SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE NOT granted "
                                       "AND relation = 'payment'::regclass").fetchone()[0]:
                time.sleep(0.02)

    for _ in range(KILLS):
        with Worker() as worker:
            worker.wait_for(deliveries=20)
    print(f"killed {KILLS} times")
    # All that is still to come, and nobody is killed before.
    left = waiting()
    if left == 0:
        sys.exit("the kills came too late")
    with Worker() as worker:
        cut_a_payment()
        print("cut a connection")
        worker.wait_for(left)
    print(f"payments: {count()}, different ones: {count('DISTINCT id')}")
    broker.default_channel.queue_delete(os.environ["QUEUE"])
