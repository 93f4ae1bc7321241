"""Payments from a list: a line of standard input names one, which is made once however often it comes."""

import os
import sys

import psycopg

# Without prepared statements it may also go through a pooler that gives each transaction another session.
with psycopg.connect(os.environ["DATABASE_URL"], prepare_threshold=None) as connection:
    for line in sys.stdin:
        payment, account, amount = line.split()
        with connection.transaction():
            (outcome,) = connection.execute(
                "SELECT outcome FROM semel.claim('payments', %s::text, %s::text)",
                (payment, line.rstrip("\n"))).fetchone()
            if outcome == "new":
                connection.execute("INSERT INTO payment (id, account, amount) VALUES (%s, %s, %s)",
                                   (payment, account, amount))
                connection.execute("UPDATE account SET balance = balance + %s WHERE id = %s",
                                   (amount, account))
        # After the commit. A message that is left comes again.
        settled = outcome in ("new", "duplicate", "dead")
        print("acknowledge" if settled else "leave", payment, outcome, flush=True)
