"""A real connection to PostgreSQL, in a process that forks."""

import os
import subprocess
import sys
import uuid

import pytest

PARENT = """
import os, sys
import {driver}, semel
url, key = sys.argv[1:]
made = []
def connect():
    made.append({driver}.connect(url))
    return made[-1]
def session():
    cursor = made[-1].cursor()
    cursor.execute("SELECT pg_backend_pid()")
    return cursor.fetchone()[0]
claims = semel.SqlClaims(connect, consumer="mails", patience=0)
held = claims.claim(key)
own = session()
children = []
for i in range(4):
    child = os.fork()
    if child == 0:
        with semel.claim(claims, f"{{key}} {{i}}") as other:
            assert other.first
        assert len(made) == 2 and session() != own
        sys.exit(0)  # with all destructors
    children.append(child)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
held.done("r")
assert claims.claim(key).result == b"r" and len(made) == 1 and session() == own
"""


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_children_and_parent_have_each_a_session(mails_database, driver):
    subprocess.run([sys.executable, "-c", PARENT.format(driver=driver), mails_database, uuid.uuid4().hex],
                   check=True, timeout=60, env=dict(os.environ))
