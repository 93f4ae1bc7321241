"""The same for asyncio: HttpClaims, SqlClaims, Transaction (psycopg's AsyncConnection), claim and once."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import time
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Awaitable, Callable, Iterable, Optional, Protocol, Sequence, TypeVar, Union

from . import _http, _leases, _sql
from ._claim import Claim as _Claim
from ._claim import UNKEPT, Item, Payload, as_bytes, lease_clock
from ._errors import LeaseLost
from ._fork import made_anew
from ._http import End, ended_by, give_back
from ._once import (
    Block,
    Options,
    Part,
    Schedule,
    as_result,
    from_result,
    is_coroutine_function,
    part_of,
    refuse_generator_function,
    refuse_unfinished,
    refuse_unknown_part,
)

Answer = TypeVar("Answer")
Work = TypeVar("Work", bound=Callable[..., Awaitable[Any]])

_CALLERS = 16
_RENEWERS = 8


class AsyncEnding(Protocol):
    async def end_claim(self, claim: _Claim, how: str, result: Optional[bytes],
                        after: Optional[float], error: str) -> None: ...

    async def renew_claim(self, claim: _Claim, lease: Optional[float]) -> None: ...


class Claim(_Claim):
    """As semel.Claim; what ends or renews it is awaited."""

    _async_ending: AsyncEnding

    @classmethod
    def of(cls, answered: _Claim, ending: AsyncEnding) -> "Claim":
        made = cls.__new__(cls)
        made.__dict__.update(answered.__dict__)
        made._async_ending = ending
        return made

    async def done(self, result: Optional[Payload] = None) -> None:  # type: ignore[override]
        try:
            await self._end_async("done", result=result)
        except UNKEPT:
            if result is None or self.ended:
                raise
            await self._end_async("done")
            raise

    async def retry(self, after: Optional[float] = None,  # type: ignore[override]
                    error: str = "") -> None:
        await self._end_async("retry", after=after, error=error)

    async def dead(self, error: str = "") -> None:  # type: ignore[override]
        await self._end_async("dead", error=error)

    async def release(self) -> None:  # type: ignore[override]
        await self._end_async("release")

    async def renew(self, lease: Optional[float] = None) -> None:  # type: ignore[override]
        self._held()
        await self._async_ending.renew_claim(self, lease)

    async def _end_async(self, how: str, result: Optional[Payload] = None,
                         after: Optional[float] = None, error: str = "") -> None:
        self._held()
        with self._ended_by(how):
            kept = None if result is None else as_bytes(result)
            await self._async_ending.end_claim(self, how, kept, after, error)


class Claims(Protocol):
    async def claim(self, key: str, payload: Optional[Payload] = None) -> Claim: ...


class _OnThreads:
    """Claims whose calls are made on threads of their own, and renewals on others.

    Work on the loop's threads, and claims that wait for a run or a database which is away, let no lease end.
    """

    def __init__(self, claims: Any) -> None:
        self._claims = claims
        self.after_fork()
        made_anew(self)

    def after_fork(self) -> None:
        self._callers = ThreadPoolExecutor(_CALLERS, f"semel claims {self._claims.consumer}")
        self._renewers = ThreadPoolExecutor(_RENEWERS, f"semel renews {self._claims.consumer}")

    async def claim(self, key: str, payload: Optional[Payload] = None) -> Claim:
        return (await self.claim_many([(key, payload)]))[0]

    async def claim_many(self, items: Sequence[Item]) -> list[Claim]:
        asked = self._callers.submit(self._claims.claim_many, items)
        try:
            answered = await asyncio.wrap_future(asked)
        except asyncio.CancelledError:
            asked.add_done_callback(self._give_back)
            raise
        return [Claim.of(one, self) for one in answered]

    def _give_back(self, asked: "Future[list[_Claim]]") -> None:
        """Its task was cancelled while the call was under way: nobody is told of the answer."""
        if asked.cancelled() or asked.exception() is not None:
            return
        with contextlib.suppress(RuntimeError):  # the process ends and makes no more calls: the leases end as well
            self._callers.submit(give_back, self._claims, asked.result())

    async def finish_many(self, ends: Iterable[End]) -> list[bool]:
        with ended_by(ends) as said:
            return await self._say(self._claims.finish_many, said)

    async def end_claim(self, claim: _Claim, how: str, result: Optional[bytes],
                        after: Optional[float], error: str) -> None:
        await self._say(self._claims.end_claim, claim, how, result, after, error)

    async def renew_claim(self, claim: _Claim, lease: Optional[float]) -> None:
        await asyncio.wrap_future(self._renewers.submit(self._claims.renew_claim, claim, lease))

    async def _say(self, call: Callable[..., Answer], *args: Any) -> Answer:
        """Ends claims, also where the task is cancelled while the call is queued: the work is done."""
        said = self._callers.submit(call, *args)
        try:
            return await asyncio.wrap_future(said)
        except asyncio.CancelledError:
            if said.cancelled():
                self._callers.submit(call, *args)
            raise


class HttpClaims(_OnThreads):
    """As semel.HttpClaims."""

    def __init__(self, url: str, *, token: Optional[str] = None, consumer: str,
                 lease: Optional[float] = None, patience: float = 30.0, timeout: float = 15.0) -> None:
        super().__init__(_http.HttpClaims(url, token=token, consumer=consumer, lease=lease,
                                          patience=patience, timeout=timeout))


class SqlClaims(_OnThreads):
    """As semel.SqlClaims: ``connect`` makes a connection as without asyncio, for each thread that asks."""

    def __init__(self, connect: Callable[[], Any], *, consumer: str, lease: float = 60.0,
                 patience: float = 30.0, timeout: float = 15.0, schema: str = "semel") -> None:
        super().__init__(_leases.SqlClaims(connect, consumer=consumer, lease=lease, patience=patience,
                                           timeout=timeout, schema=schema))

    def close(self) -> None:
        """Closes the connections that no call uses."""
        self._claims.close()


class Transaction:
    """As semel.Transaction, in the transaction of a psycopg AsyncConnection."""

    def __init__(self, connection: Any, consumer: str, *, schema: str = "semel") -> None:
        self.consumer = consumer
        self._connection = connection
        self._schema = _sql.check_schema(schema)

    async def claim(self, key: str, payload: Optional[Payload] = None) -> Claim:
        fault = _sql.key_fault(key)
        if fault is not None:
            return Claim.of(_Claim.invalid(self, key, fault), self)
        rows = await self._ask(*_sql.claim_call(self._schema, self.consumer, key, payload))
        return Claim.of(_sql.claim_of(self, key, rows[0]), self)

    async def claim_many(self, items: Sequence[Item]) -> list[Claim]:
        batch = _sql.Batch(self, self._schema, self.consumer, items)
        answered = batch.claims(await self._ask(*batch.call) if batch.call else ())
        return [Claim.of(one, self) for one in answered]

    async def end_claim(self, claim: _Claim, how: str, result: Optional[bytes],
                        after: Optional[float], error: str) -> None:
        _sql.refuse_other_end(how)
        if result is not None:
            await self._ask(*_sql.done_call(self._schema, self.consumer, claim.key, result))

    async def renew_claim(self, claim: _Claim, lease: Optional[float]) -> None:
        """The transaction holds it, and nothing has to be renewed."""

    async def forbid_commit(self) -> None:
        await self._ask(_sql.FAILS, [])

    async def _ask(self, sql: str, parameters: list[Any]) -> list[Sequence[Any]]:
        _sql.refuse_without_transaction(self._connection)
        async with self._connection.cursor() as cursor:
            try:
                await cursor.execute(sql, parameters)
                return [_sql.values_of(row) for row in await cursor.fetchall()]
            except Exception as error:
                refused = _sql.refusal_of(error, self._schema)
                if refused is None:
                    raise
                raise refused from error


class claim(Block):
    """``async with semel.aio.claim(claims, key, payload) as held``: as semel.claim.

    Where the lease ends under the block its task is cancelled, and the block raises LeaseLost.
    """

    _held: Optional[Claim] = None
    _renewal: Optional["asyncio.Task[None]"] = None
    _task: Optional["asyncio.Task[Any]"] = None
    _cancellations = 0  # of the task, before the block

    async def __aenter__(self) -> Claim:
        last = time.monotonic() + self._options.wait
        held: Claim = await self._claims.claim(self._key, self._payload)
        while (pause := self._options.pause(held, last - time.monotonic())) is not None:
            await asyncio.sleep(pause)
            held = await self._claims.claim(self._key, self._payload)
        self._held = held
        if held.lease and self._options.renews(held):
            self._task = asyncio.current_task()
            self._cancellations = getattr(self._task, "cancelling", int)()
            self._renewal = asyncio.create_task(self._renews(held, held.lease))
        return held

    async def __aexit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        if self._renewal is not None:
            self._renewal.cancel()
        held = self._held
        if held is not None and held.lost and self._is_own_cancellation(error):
            raise LeaseLost(f"{held.key!r}: its lease ended under the block, which was cancelled") from error
        if held is None or not held.first or held.ended:
            return
        if error is None:
            await held.done(held.result)
        elif held._may_be_given_back(error):
            try:
                await held.retry(error=f"{type(error).__name__}: {error}")
            except Exception:
                pass  # the lease ends by itself, and the block's own error matters more
        elif (forbid := held._no_commit()) is not None:
            try:
                await forbid()
            except Exception:
                pass  # that is how it is done

    def _is_own_cancellation(self, error: Optional[BaseException]) -> bool:
        """Takes back the cancellation by the renewal; True where it has ended the block, and no other one."""
        # Before Python 3.11 a task does not count them.
        uncancel = getattr(self._task, "uncancel", None)
        others = uncancel() - self._cancellations if uncancel is not None else 0
        return isinstance(error, asyncio.CancelledError) and others <= 0

    async def _renews(self, held: Claim, lease: float) -> None:
        schedule = Schedule(held, lease, self._options.timeout)
        failed = False
        while True:
            await asyncio.sleep(schedule.pause())
            asked = lease_clock()
            lost = failed and schedule.over()
            try:
                if not lost and schedule.goes_on():
                    await held.renew(lease)
                    schedule.renewed(asked)
                    failed = False
            except LeaseLost:
                lost = True
            except Exception:  # none may end the renewals while the work lasts, not even a RuntimeError
                failed = True
            if held.ended:
                return
            if (lost or schedule.over()) and not held._being_ended:
                break
        held.lost = True
        if self._task is not None:
            self._task.cancel()


def once(claims: Union[Claims, Callable[..., Claims]], *, key: Part, payload: Optional[Part] = None,
         wait: float = Options.wait,
         timeout: Optional[float] = Options.timeout) -> Callable[[Work], Work]:
    """As semel.once, around a coroutine function. Refuses any other by a TypeError."""

    def decorate(work: Work) -> Work:
        refuse_generator_function(work)
        if not is_coroutine_function(work):
            raise TypeError(f"{work!r} is no coroutine function: decorate it with semel.once")
        signature = inspect.signature(work)
        refuse_unknown_part(work, key, signature)
        refuse_unknown_part(work, payload, signature)

        @functools.wraps(work)
        async def run(*args: Any, **kwargs: Any) -> Any:
            source = claims if hasattr(claims, "claim") else claims(*args, **kwargs)  # type: ignore
            async with claim(source, part_of(key, signature, args, kwargs),
                             part_of(payload, signature, args, kwargs), wait=wait,
                             timeout=timeout) as held:
                held.raise_for_outcome()
                if not held.first:
                    return from_result(held.result)
                value = await work(*args, **kwargs)
                refuse_unfinished(value)
                try:
                    held.result = as_result(value)
                except Exception:  # as json raises, also for what is too deep
                    # The effect exists: it is recorded, and must not be made again for its answer.
                    await held.done()
                    raise
                return value

        return run  # type: ignore

    return decorate
