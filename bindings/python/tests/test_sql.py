"""Claims in a transaction of a real PostgreSQL, by psycopg and by psycopg2."""

import asyncio
import signal
import subprocess
import sys
import uuid

import psycopg
import psycopg2
import psycopg2.extras
import pytest
from psycopg.rows import dict_row, namedtuple_row

import semel
import semel.aio

@pytest.fixture
def database(mails_database):
    return mails_database


@pytest.fixture(params=[psycopg, psycopg2], ids=["psycopg", "psycopg2"])
def connection(request, database):
    made = request.param.connect(database)
    yield made
    made.close()


@pytest.fixture
def key():
    return uuid.uuid4().hex[:20]


LONGEST_RESULT = 1 << 20  # of the functions


def test_a_result_that_is_too_large_is_left_out(connection, key):
    mails = semel.Transaction(connection, "mails")
    with pytest.raises(semel.Refused, match="R271.*1048577 bytes, the limit is 1048576"):
        with semel.claim(mails, key) as held:
            make_effect(connection, key)
            held.result = b"x" * (LONGEST_RESULT + 1)
    assert held.ended
    with semel.claim(mails, key + "b") as held:
        make_effect(connection, key + "b")
        with pytest.raises(semel.Refused, match="R271"):
            held.done(b"x" * (LONGEST_RESULT + 1))
    with pytest.raises(TypeError):
        with semel.claim(mails, key + "c") as held:
            make_effect(connection, key + "c")
            held.done(7)
    with semel.claim(mails, key + "d") as held:
        held.result = b"x" * LONGEST_RESULT
    connection.commit()
    assert [effects(connection, key + end) for end in ("", "b", "c")] == [1, 1, 1]
    met = mails.claim_many([(key + end, None) for end in ("", "b", "c", "d")])
    assert {one.outcome for one in met} == {semel.Outcome.DUPLICATE}
    assert [one.result and len(one.result) for one in met] == [None, None, None, LONGEST_RESULT]


def test_aio_a_result_that_is_too_large_is_left_out(database, key):
    async def scenario():
        async with await psycopg.AsyncConnection.connect(database) as connection:
            mails = semel.aio.Transaction(connection, "mails")
            for name in (key, key + "b"):
                with pytest.raises(semel.Refused, match="R271"):
                    async with semel.aio.claim(mails, name) as held:
                        held.result = b"x" * (LONGEST_RESULT + 1)
                        if name != key:
                            await held.done(held.result)
                assert held.ended
            await connection.commit()
            for name in (key, key + "b"):
                assert (await mails.claim(name)).outcome is semel.Outcome.DUPLICATE

    asyncio.run(scenario())


# A connection may make anything of its rows.
ROWS = {"psycopg dict": (psycopg, {"row_factory": dict_row}),
        "psycopg namedtuple": (psycopg, {"row_factory": namedtuple_row}),
        "psycopg2 dict": (psycopg2, {"cursor_factory": psycopg2.extras.RealDictCursor}),
        "psycopg2 list": (psycopg2, {"cursor_factory": psycopg2.extras.DictCursor}),
        "psycopg2 namedtuple": (psycopg2, {"cursor_factory": psycopg2.extras.NamedTupleCursor})}


@pytest.mark.parametrize("driver, factory", ROWS.values(), ids=ROWS.keys())
def test_rows_of_any_factory_are_read(database, key, driver, factory):
    connection = driver.connect(database, **factory)
    mails = semel.Transaction(connection, "mails")
    batch = mails.claim_many([(key, b"p"), (key + " b", b"p")])
    assert all(one.first for one in batch) and [one.key for one in batch] == [key, key + " b"]
    batch[0].done("r")
    connection.commit()
    assert mails.claim(key, b"p").result == b"r"
    connection.close()
    with semel.SqlClaims(lambda: driver.connect(database, **factory), consumer="mails") as claims:
        with semel.claim(claims, key + " c") as held:
            assert held.first and held.lease == 60.0
            held.renew(30)
            held.result = "s"
        met = claims.claim(key + " c")
        assert (met.outcome, met.result) == (semel.Outcome.DUPLICATE, b"s")


def test_aio_rows_of_a_factory_are_read(database, key):
    async def scenario():
        async with await psycopg.AsyncConnection.connect(database, row_factory=dict_row) as connection:
            mails = semel.aio.Transaction(connection, "mails")
            assert (await mails.claim(key)).first
            assert [one.outcome.value for one in await mails.claim_many([(key, None)])] == ["duplicate"]

    asyncio.run(scenario())


def driver_of(connection):
    return psycopg if isinstance(connection, psycopg.Connection) else psycopg2


def effects(connection, name):
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM effect WHERE name = %s", (name,))
        return cursor.fetchone()[0]


def make_effect(connection, name):
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO effect VALUES (%s)", (name,))


def test_the_record_commits_with_the_effect(connection, key):
    mails = semel.Transaction(connection, "mails")

    @semel.once(mails, key="name", payload="name")
    def work(name):
        make_effect(connection, name)
        return {"sent": name}

    assert work(key) == {"sent": key}
    connection.rollback()
    assert effects(connection, key) == 0
    for _ in range(2):
        assert work(key) == {"sent": key}
        connection.commit()
    assert effects(connection, key) == 1


def test_what_fails_is_rolled_back_by_the_caller(connection, key):
    mails = semel.Transaction(connection, "mails")
    with pytest.raises(ZeroDivisionError):
        with semel.claim(mails, key, b"p") as held:
            assert held.first
            make_effect(connection, key)
            1 / 0
    connection.rollback()
    with semel.claim(mails, key, b"p") as held:
        assert held.first and held.lease is None
        make_effect(connection, key)
    connection.commit()
    assert effects(connection, key) == 1
    assert mails.claim(key, b"p").outcome is semel.Outcome.DUPLICATE
    assert mails.claim(key, b"q").outcome is semel.Outcome.CONFLICT


# As in a loop that logs what fails: half of an effect must not count as done.
def test_what_fails_cannot_be_committed(connection, key):
    mails = semel.Transaction(connection, "mails")
    with pytest.raises(ZeroDivisionError):
        with semel.claim(mails, key, b"p") as held:
            make_effect(connection, key)
            1 / 0
    connection.commit()
    assert effects(connection, key) == 0
    with semel.claim(mails, key, b"p") as held:
        assert held.first
        make_effect(connection, key)
    connection.commit()
    assert effects(connection, key) == 1


def test_a_batch(connection, key):
    mails = semel.Transaction(connection, "mails")
    items = [(f"{key} {i}", b"p") for i in range(100)]
    batch = mails.claim_many([*items, ("", b"p"), items[0]])
    assert [one.outcome.value for one in batch] == ["new"] * 100 + ["invalid", "duplicate"]
    batch[7].done("seven")
    connection.commit()
    again = mails.claim_many(items)
    assert all(one.outcome is semel.Outcome.DUPLICATE for one in again)
    assert again[7].result == b"seven" and again[8].result is None
    with pytest.raises(ValueError):
        mails.claim_many([("a", b"p"), ("b", None)])


# Else the driver doubles the backslashes of a value.
def test_a_server_whose_backslashes_escape(connection, key):
    with connection.cursor() as cursor:
        cursor.execute("SET standard_conforming_strings = off")
    mails = semel.Transaction(connection, "mails")
    key = "\\" + key + "\\x00'"
    same = (key + " 2", b"\x00\\'\xff")
    for payload, outcomes in ((b"p", ["new", "new"]), (b"p", ["duplicate"] * 2), (b"q", ["conflict", "duplicate"])):
        assert [one.outcome.value for one in mails.claim_many([(key, payload), same])] == outcomes
    assert mails.claim(key, b"p").outcome is semel.Outcome.DUPLICATE
    assert mails.claim(key, b"q").outcome is semel.Outcome.CONFLICT


def test_what_somebody_else_has_is_busy(connection, database, key):
    semel.Transaction(connection, "mails").claim(key)
    with psycopg.connect(database) as other:
        other.execute("SET LOCAL lock_timeout = '100ms'")
        asked = semel.Transaction(other, "mails").claim(key)
        assert asked.outcome is semel.Outcome.BUSY and asked.retry_after > 0
        with pytest.raises(semel.Busy):
            asked.raise_for_outcome()


def test_without_a_transaction_it_is_refused(connection, key):
    connection.autocommit = True
    mails = semel.Transaction(connection, "mails")
    with pytest.raises(semel.NotInTransaction):
        mails.claim(key)


def test_errors_have_their_codes(connection, key):
    with pytest.raises(semel.Refused) as refused:
        semel.Transaction(connection, "nobody").claim(key)
    assert refused.value.code == "R272"
    assert str(refused.value) == ("[R272] no consumer has the name 'nobody'; fix: register it: "
                                  "semel store init --functions --consumer NAME")
    assert refused.value.fix.startswith("register it: ")
    connection.rollback()
    with pytest.raises(ValueError):
        semel.Transaction(connection, "mails", schema="a; DROP TABLE effect")
    with pytest.raises(RuntimeError):
        semel.Transaction(connection, "mails").claim(key).dead()


def test_functions_that_are_not_there_are_named(connection, database, key):
    fix = "semel store init --functions"
    for schema in ("nowhere", "public"):
        with pytest.raises(semel.Refused, match=f"not in schema {schema}") as refused:
            semel.Transaction(connection, "mails", schema=schema).claim(key)
        assert fix in refused.value.fix and fix in str(refused.value)
        connection.rollback()
        with semel.SqlClaims(lambda: driver_of(connection).connect(database), consumer="mails",
                             schema=schema) as claims:
            with pytest.raises(semel.Refused, match=fix):
                claims.claim(key)
    # Another function that is missing is the caller's own business.
    with pytest.raises((psycopg.Error, psycopg2.Error)):
        with connection.cursor() as cursor:
            cursor.execute("SELECT nothing_of_ours()")
    connection.rollback()


CONSUMER = """
import os, signal, sys
import psycopg, semel
url, key, dies_at = sys.argv[1:]
def reach(point):
    if point == dies_at:
        os.kill(os.getpid(), signal.SIGKILL)
with psycopg.connect(url) as connection:
    with semel.claim(semel.Transaction(connection, "mails"), key) as held:
        reach("claimed")
        if held.first:
            connection.execute("INSERT INTO effect VALUES (%s)", (key,))
        reach("made")
        held.result = "sent"
    reach("ended")
    connection.commit()
    reach("committed")
"""


@pytest.mark.parametrize("dies_at", ["claimed", "made", "ended", "committed"])
def test_a_consumer_that_is_killed_makes_each_effect_once(database, key, dies_at):
    for i in range(5):
        message = f"{key} {i}"
        words = [sys.executable, "-c", CONSUMER, database, message]
        assert subprocess.run([*words, dies_at], check=False).returncode == -signal.SIGKILL
        with psycopg.connect(database) as connection:
            assert effects(connection, message) == (1 if dies_at == "committed" else 0)
        for _ in range(2):
            subprocess.run([*words, "nowhere"], check=True)
        with psycopg.connect(database) as connection:
            assert effects(connection, message) == 1


def test_asyncio(database, key):
    async def scenario():
        async with await psycopg.AsyncConnection.connect(database) as connection:
            mails = semel.aio.Transaction(connection, "mails")

            @semel.aio.once(mails, key="name")
            async def work(name):
                await connection.execute("INSERT INTO effect VALUES (%s)", (name,))
                return "sent"

            assert await work(key) == "sent"
            await connection.rollback()
            with pytest.raises(ZeroDivisionError):
                async with semel.aio.claim(mails, key) as held:
                    assert held.first
                    1 / 0
            await connection.commit()
            for _ in range(2):
                assert await work(key) == "sent"
                await connection.commit()
            batch = await mails.claim_many([(key + "b", None), (key + "c", None)])
            assert all(one.first for one in batch)

    asyncio.run(scenario())
    with psycopg.connect(database) as connection:
        assert effects(connection, key) == 1
