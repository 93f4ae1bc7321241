"""Blocks that are interrupted, and claims whose lease ends under them."""

import asyncio
import threading
import time

import pytest

import semel
import semel.aio
from memory import AioMemory
from scripted import LOST, RENEWED, new, told
from semel.testing import MemoryClaims


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError])
def test_an_interrupt_gives_nothing_back(kind):
    claims = MemoryClaims(lease=60)
    with pytest.raises(kind):
        with semel.claim(claims, "a"):
            raise kind()
    assert claims.claim("a").outcome is semel.Outcome.BUSY
    claims.advance(60)
    again = claims.claim("a")
    assert again.first and again.taken_over, "it is told that the effect may exist"


def test_aio_a_cancelled_task_gives_nothing_back():
    async def scenario():
        claims = AioMemory()
        begun = asyncio.Event()

        @semel.aio.once(claims, key="key")
        async def work(key):
            begun.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(work("a"))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await claims.claim("a")).outcome is semel.Outcome.BUSY
        claims.memory.advance(60)
        assert (await claims.claim("a")).taken_over

    asyncio.run(scenario())


def wait_until_lost(held):
    last = time.monotonic() + 60
    while not held.lost:
        assert time.monotonic() < last, "nobody was told that the lease was lost"
        time.sleep(0.01)


def aio_claims(server, **options):
    return server.claims(semel.aio.HttpClaims, **options)


def test_a_block_is_told_that_its_lease_was_lost(server):
    server.scripts["renew"] = [told(LOST)]
    with pytest.raises(ZeroDivisionError):
        with semel.claim(server.claims(), "a") as held:
            assert not held.lost
            wait_until_lost(held)
            1 / 0
    assert not server.asked["finish"], "it was not this caller's to give back"


def test_aio_a_block_whose_lease_was_lost_is_cancelled(server):
    server.scripts["renew"] = [told(LOST)]

    async def scenario():
        with pytest.raises(semel.LeaseLost):
            async with semel.aio.claim(aio_claims(server), "a") as held:
                await asyncio.Event().wait()
        assert held.lost and not server.asked["finish"]
        await asyncio.sleep(0)  # the task goes on: the cancellation was the block's alone
        if hasattr(asyncio.Task, "cancelling"):
            assert asyncio.current_task().cancelling() == 0

    asyncio.run(scenario())


@pytest.mark.skipif(not hasattr(asyncio.Task, "uncancel"), reason="a task counts no cancellations")
def test_aio_a_cancellation_by_others_passes(server):
    server.scripts["renew"] = [told(LOST)]

    async def block():
        async with semel.aio.claim(aio_claims(server), "a"):
            try:
                await asyncio.Event().wait()
            finally:
                asyncio.current_task().cancel()

    async def scenario():
        task = asyncio.create_task(block())
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())


def test_a_renewal_that_nobody_answers_ends_in_a_lost_lease(server):
    server.scripts["renew"] = [told({}, 503)]
    with semel.claim(server.claims(), "a") as held:
        wait_until_lost(held)
        server.scripts["renew"] = [told(RENEWED)]
        last = time.monotonic() + 60
        while held.lost:
            assert time.monotonic() < last, "nobody had taken it meanwhile"
            time.sleep(0.01)

    async def scenario():
        server.scripts["renew"] = [told({}, 503)]
        with pytest.raises(semel.LeaseLost):
            async with semel.aio.claim(aio_claims(server), "a"):
                await asyncio.Event().wait()

    asyncio.run(scenario())


def test_a_block_that_hangs_loses_its_key(run):
    hung = run.claims(lease=0.3)
    with pytest.raises(semel.LeaseLost):
        with semel.claim(hung, "a", timeout=0.2) as held:
            with semel.claim(run.claims(), "a", wait=60) as other:
                assert other.first and other.taken_over
            wait_until_lost(held)
    assert run.claims().claim("a").outcome is semel.Outcome.DUPLICATE


def test_aio_work_that_hangs_loses_its_key(run):
    async def scenario():
        @semel.aio.once(run.aio_claims(lease=0.3), key="key", timeout=0.2)
        async def work(key):
            await asyncio.Event().wait()

        with pytest.raises(semel.LeaseLost):
            await work("a")
        async with semel.aio.claim(run.aio_claims(), "a", wait=60) as other:
            assert other.first and other.taken_over

    asyncio.run(scenario())


def test_without_a_timeout_it_is_renewed(server):
    with semel.claim(server.claims(), "a", timeout=None):
        assert server.wait_for("renew", 10)


def test_aio_an_end_that_meets_a_renewal_is_not_cancelled():
    async def scenario():
        claims = AioMemory(lease=0.1)
        refused, met = [], asyncio.Event()

        async def renew_claim(held, lease):
            refused.append(held)
            if len(refused) == 3:
                met.set()
            raise semel.LeaseLost("it is ended")

        async def end_claim(held, how, result, after, error):
            await met.wait()
            claims.memory.end_claim(held, how, result, after, error)

        claims.renew_claim, claims.end_claim = renew_claim, end_claim
        async with semel.aio.claim(claims, "a") as held:
            await held.done("r")
        assert claims.memory.state_of("a") == "completed" and not held.lost

    asyncio.run(scenario())


async def all_callers_are_busy(claims, free):
    """Further calls are queued, until it is free."""
    busy = threading.Barrier(semel.aio._CALLERS + 1)

    def keep():
        busy.wait(60)
        free.wait(60)

    for _ in range(semel.aio._CALLERS):
        claims._callers.submit(keep)
    await asyncio.to_thread(busy.wait, 60)


async def queued(claims):
    while claims._callers._work_queue.qsize() == 0:
        await asyncio.sleep(0.01)


async def end_of_block(claims, free):
    async with semel.aio.claim(claims, "a") as held:
        await all_callers_are_busy(claims, free)
        held.result = "r"


async def end_of_batch(claims, free):
    held = await claims.claim("a")
    await all_callers_are_busy(claims, free)
    await claims.finish_many([semel.End(held, result="r")])


@pytest.mark.parametrize("work", [end_of_block, end_of_batch])
def test_aio_an_end_that_is_queued_is_sent_though_its_task_is_cancelled(server, work):
    server.scripts["claims"] = [told(new(lease_ms=60_000))]
    claims, free = aio_claims(server), threading.Event()

    async def scenario():
        task = asyncio.create_task(work(claims, free))
        try:
            await asyncio.wait_for(queued(claims), 60)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        finally:
            free.set()

    asyncio.run(scenario())
    claims._callers.shutdown()  # all that is queued is called
    assert [asked["claims"][0]["as"] for asked in server.asked["finish"]] == ["done"]


def test_aio_a_claim_that_is_queued_is_not_asked_for_where_its_task_is_cancelled(server):
    claims, free = aio_claims(server), threading.Event()

    async def scenario():
        await all_callers_are_busy(claims, free)
        task = asyncio.create_task(claims.claim("a"))
        await asyncio.wait_for(queued(claims), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        free.set()

    asyncio.run(scenario())
    claims._callers.shutdown()
    assert server.asked["claims"] == []


def test_aio_a_claim_whose_task_is_cancelled_meanwhile_is_given_back(server):
    answers = threading.Event()
    server.before["claims"] = lambda: answers.wait(60)

    async def block():
        async with semel.aio.claim(aio_claims(server), "a"):
            raise AssertionError("nobody waits for it")

    async def scenario():
        task = asyncio.create_task(block())
        assert await asyncio.to_thread(server.wait_for, "claims", 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        answers.set()

    asyncio.run(scenario())
    assert server.wait_for("finish", 1)
    assert [(one["key"], one["as"]) for one in server.asked["finish"][0]["claims"]] == [("a", "release")]


def test_aio_a_claim_whose_task_is_cancelled_with_the_answer_is_given_back(server, monkeypatch):
    claims, asked = aio_claims(server), []
    submit = claims._callers.submit
    monkeypatch.setattr(claims._callers, "submit", lambda *call: asked.append(submit(*call)) or asked[-1])

    async def scenario():
        task = asyncio.create_task(claims.claim("a"))
        while not asked:
            await asyncio.sleep(0)
        assert asked[0].result(60), "it is answered, and the task has not gone on"
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert server.wait_for("finish", 1)
    assert server.asked["finish"][0]["claims"][0]["as"] == "release"
