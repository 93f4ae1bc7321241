"""A Celery task whose effect happens once, however often its message comes and its worker dies."""

import os

import psycopg
from celery import Celery

import semel

app = Celery("tasks", broker=os.environ["BROKER_URL"])
# A task whose worker dies comes again, for it is acknowledged when it has ended.
app.conf.update(task_acks_late=True, task_reject_on_worker_lost=True, worker_prefetch_multiplier=10,
                task_default_queue=os.environ.get("QUEUE", "payments"))


# Celery acknowledges a task that raises, unless it is tried again.
PASSING = (semel.Busy, psycopg.OperationalError, psycopg.InterfaceError)


@app.task(autoretry_for=PASSING, default_retry_delay=1, max_retries=None)
def pay(payment, amount):
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        with semel.claim(semel.Transaction(connection, "payments"), payment, str(amount)) as held:
            held.raise_for_outcome()
            if held.first:
                connection.execute("INSERT INTO payment (id, amount) VALUES (%s, %s)", (payment, amount))
