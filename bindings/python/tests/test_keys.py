"""What cannot be a key: every door answers for it alike, before anything is sent."""

import asyncio
import uuid

import psycopg
import psycopg2
import pytest

import semel
import semel.aio
from memory import AioMemory
from semel.testing import MemoryClaims

INVALID = {"empty": "", "too long": "k" * 65_537, "far too long": "k" * 10_000_000,
           "too long in UTF-8": "ü" * 32_769, "half of a character": "\ud800"}
# The longest key takes more of a call to a run than that has; zero is no character of PostgreSQL's.
INVALID_OVER_HTTP = {"longer than a call": "k" * 65_000, "longer than a call in JSON": "\n" * 40_000}
INVALID_IN_SQL = {"zero": "a\0b"}
SQL_DRIVERS = {"psycopg": psycopg, "psycopg2": psycopg2}


class NoConnection:
    """Nothing may be asked."""

    autocommit = False


def connect():
    raise AssertionError("nothing is asked")


def doors(module):
    """Those that need no server, as none is asked; each with its invalid keys."""
    memory = MemoryClaims() if module is semel else AioMemory()
    return [(memory, INVALID),
            (module.HttpClaims("http://127.0.0.1:1", consumer="mails", patience=0), {**INVALID, **INVALID_OVER_HTTP}),
            (module.SqlClaims(connect, consumer="mails"), {**INVALID, **INVALID_IN_SQL}),
            (module.Transaction(NoConnection(), "mails"), {**INVALID, **INVALID_IN_SQL})]


def test_what_cannot_be_a_key_is_invalid_and_asked_of_nobody():
    for claims, keys in doors(semel):
        for key in keys.values():
            assert claims.claim(key).outcome is semel.Outcome.INVALID

            @semel.once(claims, key="name")
            def work(name):
                raise AssertionError("nothing is done")

            with pytest.raises(semel.Invalid) as invalid:
                work(key)
            assert len(str(invalid.value)) < 2_000 and invalid.value.key == key
        assert {one.outcome for one in claims.claim_many([(key, b"p") for key in keys.values()])} == {
            semel.Outcome.INVALID}


def test_aio_what_cannot_be_a_key_is_invalid_and_asked_of_nobody():
    async def scenario():
        for claims, keys in doors(semel.aio):
            for key in keys.values():
                @semel.aio.once(claims, key="name")
                async def work(name):
                    raise AssertionError("nothing is done")

                with pytest.raises(semel.Invalid):
                    await work(key)
            if hasattr(claims, "claim_many"):
                batch = await claims.claim_many([(key, None) for key in keys.values()])
                assert {one.outcome for one in batch} == {semel.Outcome.INVALID}
                assert all(isinstance(one, semel.aio.Claim) for one in batch)

    asyncio.run(scenario())


def mixed(good, invalid):
    """Good keys between the invalid ones, and the outcomes of all."""
    items = [(good + "0", b"p")]
    for i, key in enumerate(invalid):
        items += [(key, b"p"), (f"{good}{i + 1}", b"p")]
    return items, ["new"] + ["invalid", "new"] * len(invalid)


def outcomes(batch):
    return [one.outcome.value for one in batch]


def test_an_invalid_key_costs_no_neighbour_over_http(run):
    items, expected = mixed("a", {**INVALID, **INVALID_OVER_HTTP}.values())
    batch = run.claims().claim_many(items)
    assert outcomes(batch) == expected and [one.key for one in batch] == [key for key, _ in items]

    async def scenario():
        more, _ = mixed("b", {**INVALID, **INVALID_OVER_HTTP}.values())
        return await run.aio_claims().claim_many(more)

    assert outcomes(asyncio.run(scenario())) == expected


@pytest.mark.parametrize("driver", SQL_DRIVERS.values(), ids=SQL_DRIVERS.keys())
def test_an_invalid_key_costs_no_neighbour_in_sql(mails_database, driver):
    good, other = uuid.uuid4().hex, uuid.uuid4().hex
    items, expected = mixed(good, {**INVALID, **INVALID_IN_SQL}.values())
    with semel.SqlClaims(lambda: driver.connect(mails_database), consumer="mails") as claims:
        assert outcomes(claims.claim_many(items)) == expected
    items, expected = mixed(other, {**INVALID, **INVALID_IN_SQL}.values())
    connection = driver.connect(mails_database)
    mails = semel.Transaction(connection, "mails")
    for key in {**INVALID, **INVALID_IN_SQL}.values():
        assert mails.claim(key, b"p").outcome is semel.Outcome.INVALID
    batch = mails.claim_many(items)
    assert outcomes(batch) == expected and [one.key for one in batch] == [key for key, _ in items]
    batch[0].done("kept")
    connection.commit()
    assert mails.claim(other + "0", b"p").result == b"kept", "the transaction was not spoiled"
    connection.close()


def test_aio_an_invalid_key_costs_no_neighbour_in_a_transaction(mails_database):
    good = uuid.uuid4().hex
    items, expected = mixed(good, {**INVALID, **INVALID_IN_SQL}.values())

    async def scenario():
        async with await psycopg.AsyncConnection.connect(mails_database) as connection:
            mails = semel.aio.Transaction(connection, "mails")
            for key in {**INVALID, **INVALID_IN_SQL}.values():
                assert (await mails.claim(key, b"p")).outcome is semel.Outcome.INVALID
            batch = await mails.claim_many(items)
            assert outcomes(batch) == expected
            await batch[0].done("kept")
            await connection.commit()
            assert (await mails.claim(good + "0", b"p")).result == b"kept"

    asyncio.run(scenario())


def test_payloads_are_given_to_all_keys_of_a_batch_or_to_none_whatever_the_keys():
    with pytest.raises(ValueError, match="its payload"):
        semel.Transaction(NoConnection(), "mails").claim_many([("", b"p"), ("\ud800", None)])


# It fits in a call as UTF-8, not with each character escaped.
@pytest.mark.parametrize("key", ["a\0b", "ü" * 30_000, "k" * 64_000, "🙂", " "],
                         ids=["zero", "long in UTF-8", "long", "one character", "a blank"])
def test_a_key_of_any_text_is_claimed_over_http(run, key):
    with semel.claim(run.claims(), key, b"p") as held:
        assert held.first and held.key == key
        held.renew()
        held.result = "kept"
    assert run.claims().claim(key, b"p").result == b"kept"


# A server may close the connection while the call is sent, which looks as if it were away.
@pytest.mark.parametrize("count", [2, 200])
def test_a_batch_that_is_larger_than_a_call_is_refused(run, count):
    with pytest.raises(semel.Refused, match="larger than a run takes") as refused:
        run.claims(patience=0).claim_many([(f"{i}" + "k" * 60_000, None) for i in range(count)])
    assert type(refused.value) is semel.Refused
    assert refused.value.code == "R344" and refused.value.fix == "fewer keys at a time"
    assert run.claims().claim_many([]) == []
