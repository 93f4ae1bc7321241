"""The same consumer without the claim: it makes a payment as often as its line comes."""

import os
import sys

import psycopg

with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
    for line in sys.stdin:
        payment, account, amount = line.split()
        with connection.transaction():
            connection.execute("INSERT INTO payment (id, account, amount) VALUES (%s, %s, %s)",
                               (payment, account, amount))
            connection.execute("UPDATE account SET balance = balance + %s WHERE id = %s",
                               (amount, account))
        print("acknowledge", payment, "new", flush=True)
