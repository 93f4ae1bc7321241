"""The same for asyncio."""

import asyncio

import pytest

import semel
import semel.aio


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
        slow = run.aio_claims(lease=0.6)
        renew, renewed, times = slow.renew_claim, asyncio.Event(), []

        async def counted(held, lease):
            await renew(held, lease)
            times.append(lease)
            if len(times) == 5:
                renewed.set()

        slow.renew_claim = counted
        async with semel.aio.claim(slow, "a"):
            await asyncio.wait_for(renewed.wait(), 60)
            assert (await run.aio_claims().claim("a")).outcome is semel.Outcome.BUSY
        assert (await run.aio_claims().claim("a")).outcome is semel.Outcome.DUPLICATE

    asyncio.run(scenario())
