"""The same for asyncio."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import semel
import semel.aio
from scripted import new, told


def test_a_key_is_claimed_and_done_once(run):
    async def scenario():
        claims = run.aio_claims()
        async with semel.aio.claim(claims, "a", "p") as held:
            assert held.first
            held.result = "r"
        async with semel.aio.claim(claims, "a", "p") as held:
            assert held.outcome is semel.Outcome.DUPLICATE and held.result == b"r"
        with pytest.raises(ZeroDivisionError):
            async with semel.aio.claim(claims, "b"):
                1 / 0
        again = await claims.claim("b")
        assert again.first and again.attempt == 2
        await again.renew(30)
        await again.release()
        batch = await claims.claim_many([("c", None), ("d", None)])
        assert await claims.finish_many([semel.End(one) for one in batch]) == [True, True]

    asyncio.run(scenario())


def test_once_runs_each_key_once_among_many_tasks(run):
    made = []

    async def scenario():
        claims = run.aio_claims()

        @semel.aio.once(claims, key="key", wait=60)
        async def work(key):
            made.append(key)
            return {"key": key}

        return await asyncio.gather(*(work(f"k{i % 5}") for i in range(15)))

    assert asyncio.run(scenario()) == [{"key": f"k{i % 5}"} for i in range(15)]
    assert sorted(made) == [f"k{i}" for i in range(5)]


def test_slow_work_keeps_its_key(run):
    async def scenario():
        slow = run.aio_claims(lease=3.0)
        renew, renewed, times = slow.renew_claim, asyncio.Event(), []

        async def counted(held, lease):
            await renew(held, lease)
            times.append(lease)
            if len(times) == 4:
                renewed.set()

        slow.renew_claim = counted
        async with semel.aio.claim(slow, "a"):
            await asyncio.wait_for(renewed.wait(), 60)
            assert (await run.aio_claims().claim("a")).outcome is semel.Outcome.BUSY
        assert (await run.aio_claims().claim("a")).outcome is semel.Outcome.DUPLICATE

    asyncio.run(scenario())


async def renewals(server, times):
    """Without a thread: there may be none. One is asked for after a third of the lease, and the rest of it is for a slow machine."""
    while len(server.asked["renew"]) < times:
        await asyncio.sleep(0.01)


def test_work_on_the_threads_of_the_loop_delays_no_renewal(server):
    server.scripts["claims"] = [told(new(lease_ms=9000))]
    end = threading.Event()

    async def scenario():
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        work = [asyncio.create_task(asyncio.to_thread(end.wait, 60)) for _ in range(3)]
        async with semel.aio.claim(server.claims(semel.aio.HttpClaims), "a") as held:
            await asyncio.wait_for(renewals(server, 1), 60)
        assert held.ended
        end.set()
        await asyncio.gather(*work)

    try:
        asyncio.run(scenario())
    finally:
        end.set()


def test_claims_that_wait_for_a_run_delay_no_renewal(server):
    first, away = told(new(lease_ms=9000)), told({}, 503)
    server.scripts["claims"] = [first, away]

    async def scenario():
        claims = server.claims(semel.aio.HttpClaims)
        async with semel.aio.claim(claims, "a") as held:
            others = [asyncio.create_task(claims.claim("a")) for _ in range(100)]
            try:
                await asyncio.wait_for(renewals(server, 1), 60)
            finally:
                server.scripts["claims"] = [first]
            await asyncio.gather(*others)
        assert held.ended

    asyncio.run(scenario())
