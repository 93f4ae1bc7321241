"""Work that a claim must not record as done, and results that cannot be kept."""

import asyncio
import functools
from concurrent.futures import Future

import pytest

import semel
import semel.aio
from memory import AioMemory
from semel.testing import MemoryClaims


async def coroutine_function(key):
    return key


def generator_function(key):
    yield key


async def async_generator_function(key):
    yield key


class CallIsCoroutine:
    async def __call__(self, key):
        return key


@pytest.mark.parametrize("work", [
    coroutine_function, generator_function, async_generator_function,
    functools.partial(coroutine_function), CallIsCoroutine()])
def test_once_refuses_work_whose_call_does_nothing(work):
    with pytest.raises(TypeError, match="coroutine function|generator function"):
        semel.once(MemoryClaims(), key=lambda key: key)(work)


@pytest.mark.parametrize("made", [coroutine_function, generator_function, async_generator_function])
def test_once_records_nothing_where_the_work_has_yet_to_be_run(made):
    claims = MemoryClaims()
    handle = semel.once(claims, key=lambda key: key)(lambda key: made(key))
    for attempt in (1, 2):
        with pytest.raises(TypeError, match="has not been done"):
            handle("a")
        assert claims.state_of("a") == "retrying"
    assert claims.claim("a").attempt == 3


@pytest.mark.parametrize("work", [
    lambda key: key, generator_function, async_generator_function, functools.partial(print)])
def test_aio_once_refuses_what_cannot_be_awaited(work):
    with pytest.raises(TypeError, match="coroutine function|generator function"):
        semel.aio.once(AioMemory(), key=lambda key: key)(work)


def test_aio_once_takes_a_partial_and_an_object():
    async def scenario():
        claims = AioMemory()
        for name, work in (("a", functools.partial(coroutine_function)), ("b", CallIsCoroutine())):
            handle = semel.aio.once(claims, key=lambda key: key)(work)
            assert await handle(name) == name
            assert claims.memory.state_of(name) == "completed"

    asyncio.run(scenario())


def test_aio_once_records_nothing_where_the_work_has_yet_to_be_run():
    async def scenario():
        claims = AioMemory()

        @semel.aio.once(claims, key="key")
        async def handle(key):
            return coroutine_function(key)

        with pytest.raises(TypeError, match="has not been done"):
            await handle("a")
        assert claims.memory.state_of("a") == "retrying"

    asyncio.run(scenario())


# Submitted work may fail, and a map has made nothing yet: recorded as done, the effect would be lost.
@pytest.mark.parametrize("made, mend", [(lambda key: Future(), "its result"), (lambda key: map(str, [key]), "a list"),
                                        (lambda key: iter([key]), "a list")], ids=["future", "map", "iterator"])
def test_once_records_nothing_where_the_work_may_still_fail(made, mend):
    claims = MemoryClaims()
    handle = semel.once(claims, key="key")(made)
    with pytest.raises(TypeError, match=f"has not been done.*{mend}"):
        handle("a")
    assert claims.state_of("a") == "retrying"

    async def scenario():
        claims = AioMemory()

        @semel.aio.once(claims, key="key")
        async def handle(key):
            return made(key)

        with pytest.raises(TypeError, match=f"has not been done.*{mend}"):
            await handle("a")
        assert claims.memory.state_of("a") == "retrying"

    asyncio.run(scenario())


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("result", [{"id": 7}, 7, object(), "\ud800"])
def test_a_result_that_is_no_bytes_is_left_out(result):
    claims = MemoryClaims()
    with pytest.raises((TypeError, ValueError)):
        with semel.claim(claims, "a") as held:
            held.result = result
    assert claims.claim("a").outcome is semel.Outcome.DUPLICATE
    held = claims.claim("b")
    with pytest.raises((TypeError, ValueError)):
        held.done(result)
    assert held.ended and claims.claim("b").outcome is semel.Outcome.DUPLICATE


def test_aio_a_result_that_is_no_bytes_is_left_out():
    async def scenario():
        claims = AioMemory()
        with pytest.raises(TypeError):
            async with semel.aio.claim(claims, "a") as held:
                held.result = 7
        assert claims.memory.state_of("a") == "completed"

        @semel.aio.once(claims, key="key")
        async def deep(key):
            return nested(100_000)

        with pytest.raises(RecursionError):
            await deep("b")
        assert claims.memory.state_of("b") == "completed"

    asyncio.run(scenario())


def test_a_result_that_is_too_deep_is_left_out():
    claims, made = MemoryClaims(), []

    @semel.once(claims, key=lambda: "a")
    def work():
        made.append(1)
        return nested(100_000)

    with pytest.raises(RecursionError):
        work()
    assert work() is None and made == [1]


@pytest.mark.parametrize("part", ["key", "payload"])
def test_the_name_of_no_argument_is_refused(part):
    def work(order, text):
        raise AssertionError("nothing is done")

    async def awaited(order, text):
        raise AssertionError("nothing is done")

    parts = {"key": "order", part: "oder"}
    for once, claims, one in ((semel.once, MemoryClaims(), work), (semel.aio.once, AioMemory(), awaited)):
        with pytest.raises(semel.Refused, match="no argument 'oder'.*order, text"):
            once(claims, **parts)(one)


def test_the_name_of_a_keyword_argument_may_be_any():
    claims = MemoryClaims()

    @semel.once(claims, key="order")
    def work(**parts):
        return parts["order"]

    assert work(order="a") == "a" and claims.state_of("a") == "completed"
    with pytest.raises(semel.Refused, match="no argument 'order'"):
        work(oder="a")


def test_an_error_has_its_code_once_and_its_fix():
    error = semel.Refused("there is no consumer \"x\"", "R343", "GET /api/v1/consumers")
    assert str(error) == "[R343] there is no consumer \"x\"; fix: GET /api/v1/consumers"
    assert (error.message, error.code, error.fix) == (
        "there is no consumer \"x\"", "R343", "GET /api/v1/consumers")
    assert str(semel.Refused("a", "R343")) == "[R343] a" and str(semel.Busy("k", "held")) == "'k': held"


def test_the_package_has_its_version():
    from importlib import metadata

    assert semel.__version__ == metadata.version("semel")


def test_a_payload_is_text_or_bytes():
    with pytest.raises(TypeError):
        MemoryClaims().claim("a", 7)


# The first is over limits.result, the second over what one call may have.
LENGTHS = [20_000, 200_000]


@pytest.mark.parametrize("length", LENGTHS)
def test_a_result_that_is_too_large_is_left_out(run, length):
    claims, made = run.claims(), []

    @semel.once(claims, key="key")
    def work(key):
        made.append(key)
        return "x" * length

    with pytest.raises(semel.Refused):
        work("a")
    assert work("a") is None and made == ["a"]

    async def scenario():
        with pytest.raises(semel.Refused):
            async with semel.aio.claim(run.aio_claims(), "b") as held:
                held.result = b"x" * length
        assert held.ended

    asyncio.run(scenario())
    assert claims.claim("b").outcome is semel.Outcome.DUPLICATE


@pytest.mark.parametrize("length", LENGTHS)
def test_a_batch_leaves_out_the_result_that_is_too_large(run, length):
    claims = run.claims()
    batch = claims.claim_many([("a", None), ("b", None), ("c", None)])
    with pytest.raises(semel.Refused, match="'b'"):
        claims.finish_many(semel.End(one, result=size * b"x") for one, size in zip(batch, (1, length, 2)))
    assert all(one.ended for one in batch)
    assert [one.result for one in claims.claim_many([("a", None), ("b", None), ("c", None)])] == [
        b"x", None, b"xx"]


def test_a_batch_may_be_larger_than_one_call(run):
    claims = run.claims()
    keys = [(f"k{i}", None) for i in range(100)]
    made = claims.claim_many(keys)
    assert claims.finish_many(semel.End(one, result=b"x" * 600) for one in made) == [True] * 100
    assert {one.outcome for one in claims.claim_many(keys)} == {semel.Outcome.DUPLICATE}
    assert claims.claim("k99").result == b"x" * 600


# Of confluent-kafka a key is bytes; the database would make text of them by a setting of the session.
@pytest.mark.parametrize("key", [b"order-1", 7, None])
def test_a_key_is_text(key):
    class NoConnection:
        autocommit = False

    def connect():
        raise AssertionError("nothing is asked")

    for claims in (MemoryClaims(), semel.HttpClaims("http://127.0.0.1:1", consumer="mails"),
                   semel.SqlClaims(connect, consumer="mails"), semel.Transaction(NoConnection(), "mails")):
        with pytest.raises(TypeError, match="a key is text"):
            claims.claim(key)
        with pytest.raises(TypeError, match="a key is text"):
            claims.claim_many([(key, None)])


WRONG_ENDS = {"no end": {"how": "what"}, "no word": {"how": None}, "after of done": {"how": "done", "after": 1.0},
              "after of dead": {"how": "dead", "after": 1.0}, "error of done": {"how": "done", "error": "e"},
              "error of release": {"how": "release", "error": "e"}, "result of retry": {"how": "retry", "result": b"r"},
              "result of dead": {"how": "dead", "result": ""}, "after of release": {"how": "release", "after": 0.0}}


class OneAnswer:
    """A connection to a store that gives each key; nothing is said of ends."""

    autocommit = closed = False

    def cursor(self):
        return self

    def execute(self, sql, parameters):
        assert "semel.begin(" in sql, "nothing is ended"

    def fetchone(self):
        return "new", 1, 1, False, None, None, None

    def fileno(self):
        return -1

    def close(self):
        pass


@pytest.mark.parametrize("wrong", WRONG_ENDS.values(), ids=WRONG_ENDS.keys())
def test_an_end_that_is_none_is_refused_before_any_is_taken(server, wrong):
    memory = MemoryClaims()
    for claims in (memory, server.claims(), semel.SqlClaims(OneAnswer, consumer="mails")):
        good, other = claims.claim("a"), claims.claim("b")
        with pytest.raises(semel.Refused) as refused:
            claims.finish_many([semel.End(good), semel.End(other, **wrong)])
        assert refused.value.code == "R344" and refused.value.fix
        assert not good.ended and not other.ended
    assert (memory.state_of("a"), memory.state_of("b")) == ("consuming", "consuming")
    assert server.asked["finish"] == []


def test_aio_an_end_that_is_none_is_refused(server):
    async def scenario():
        claims = server.claims(semel.aio.HttpClaims)
        held = await claims.claim("a")
        with pytest.raises(semel.Refused, match="'after'"):
            await claims.finish_many([semel.End(held, after=1.0)])
        assert not held.ended

    asyncio.run(scenario())
    assert server.asked["finish"] == []


def test_the_ends_of_a_batch_are_checked_together():
    claims = MemoryClaims()
    good, ended = claims.claim("a"), claims.claim("b")
    ended.done()
    with pytest.raises(RuntimeError, match="not held"):
        claims.finish_many([semel.End(good), semel.End(ended)])
    with pytest.raises(TypeError):
        claims.finish_many([semel.End(good), semel.End(claims.claim("c"), result=7)])
    assert claims.state_of("a") == "consuming"
    assert claims.finish_many([semel.End(good, "retry", after=5.0, error="e")]) == [True]
