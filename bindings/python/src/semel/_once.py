"""``with semel.claim(…)`` and ``@semel.once(…)``."""

from __future__ import annotations

import functools
import inspect
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Callable, Optional, Protocol, TypeVar, Union

from ._claim import Claim, Outcome, Payload, as_bytes, lease_clock
from ._errors import LeaseLost, Refused

Work = TypeVar("Work", bound=Callable[..., Any])
#: A function of the arguments, or the name of one of them.
Part = Union[str, Callable[..., Any]]

_LONGEST_WAIT = 1.0
#: For how many seconds the lease of a block is renewed, unless it says otherwise.
LONGEST_WORK = 3600.0


class Claims(Protocol):
    """Claims keys of one consumer: HttpClaims, Transaction, semel.testing.MemoryClaims."""

    def claim(self, key: str, payload: Optional[Payload] = None) -> Claim: ...


@dataclass(frozen=True)
class Options:
    """How a block claims its key, with and without asyncio: the defaults of both are here.

    ``wait``: for how many seconds a key that somebody else has is asked for again. ``renew``: whether its
    lease is renewed while the block runs. ``timeout``: for so many seconds; None: without end.
    """

    wait: float = 0.0
    renew: bool = True
    timeout: Optional[float] = LONGEST_WORK

    def renews(self, held: Claim) -> bool:
        return held.first and self.renew

    def pause(self, held: Claim, left: float) -> Optional[float]:
        """After how many seconds the key is asked for again; None: its answer stands."""
        if held.outcome not in (Outcome.BUSY, Outcome.RETRY) or left <= 0:
            return None
        return min(held.retry_after or _LONGEST_WAIT, _LONGEST_WAIT, left)


class Block:
    """A key, its payload and the options: what ``claim`` is made of, with and without asyncio."""

    def __init__(self, claims: Any, key: str, payload: Optional[Payload] = None, *,
                 wait: float = Options.wait, renew: bool = Options.renew,
                 timeout: Optional[float] = Options.timeout) -> None:
        self._claims = claims
        self._key = key
        self._payload = payload
        self._options = Options(wait, renew, timeout)


class Schedule:
    """When a claim is renewed, and when its lease is over by the clock of this process."""

    def __init__(self, held: Claim, lease: float, timeout: Optional[float]) -> None:
        self._lease = lease
        self._end = None if timeout is None else time.monotonic() + timeout
        self._good_until = held.good_until or lease_clock() + lease
        self._begun = False

    def pause(self) -> float:
        """A third of the lease; where a renewal has failed, less, so that there is time for others."""
        begun, self._begun = self._begun, True
        left = self._good_until - lease_clock()
        if left <= 0:
            return self._lease / 3 if begun else 0.0
        return min(self._lease / 3, max(left / 2, self._lease / 12), left)

    def goes_on(self) -> bool:
        return self._end is None or time.monotonic() < self._end

    def renewed(self, asked: float) -> None:
        """``asked``: by lease_clock(); the lease counts from somewhere between the question and its answer."""
        self._good_until = asked + self._lease

    def over(self) -> bool:
        return lease_clock() >= self._good_until


class _Renewal(threading.Thread):
    """Renews a claim at a third of its lease, until it is told to stop or the lease is lost."""

    def __init__(self, held: Claim, lease: float, timeout: Optional[float]) -> None:
        super().__init__(name=f"semel renews {held.key[:40]}", daemon=True)
        self._held = held
        self._lease = lease
        self._schedule = Schedule(held, lease, timeout)
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.wait(self._schedule.pause()):
            goes_on = self._schedule.goes_on()
            self._held.lost = self._schedule.over()  # before it is asked: the answer may be long in coming
            if goes_on and not self._renews():
                return
            self._held.lost = self._schedule.over()
            if self._held.lost and not goes_on:
                return

    def _renews(self) -> bool:
        asked = lease_clock()
        try:
            self._held.renew(self._lease)
            self._schedule.renewed(asked)
        except LeaseLost:
            if not self._held._being_ended:
                self._held.lost = not self._held.ended
                return False
        except Exception:  # none may end the renewals while the work lasts, not even a RuntimeError
            return not self._held.ended
        return True

    def stop(self) -> None:
        self._stopped.set()


class claim(Block):
    """``with semel.claim(claims, key, payload) as held``: does the work where ``held.first``.

    At the end of the block the claim is done, with ``held.result``; where the block raises an Exception it
    is given back, and the exception passes. An interrupt, an exit or a cancellation does not say whether
    the effect exists: the claim is left to the end of its lease. In a Transaction all of it is the business
    of the caller's COMMIT or ROLLBACK.

    A lease is renewed meanwhile, unless ``renew`` is false, for ``timeout`` seconds: a block that hangs
    loses its key. None: without end. ``held.lost`` says that the lease ended under the block. ``wait``: for
    how many seconds a key that somebody else has is asked for again.
    """

    _held: Optional[Claim] = None
    _renewal: Optional[_Renewal] = None

    def __enter__(self) -> Claim:
        last = time.monotonic() + self._options.wait
        held: Claim = self._claims.claim(self._key, self._payload)
        while (pause := self._options.pause(held, last - time.monotonic())) is not None:
            time.sleep(pause)
            held = self._claims.claim(self._key, self._payload)
        self._held = held
        if held.lease and self._options.renews(held):
            self._renewal = _Renewal(held, held.lease, self._options.timeout)
            self._renewal.start()
        return held

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self._renewal is not None:
            self._renewal.stop()
        held = self._held
        if held is None or not held.first or held.ended:
            return
        if error is None:
            held.done(held.result)
        elif held._may_be_given_back(error):
            try:
                held.retry(error=f"{type(error).__name__}: {error}")
            except Exception:
                pass  # the lease ends by itself, and the block's own error matters more
        elif (forbid := held._no_commit()) is not None:
            try:
                forbid()
            except Exception:
                pass  # that is how it is done


def part_of(part: Optional[Part], signature: inspect.Signature, args: Any, kwargs: Any) -> Any:
    """The key or the payload of a call."""
    if part is None:
        return None
    if callable(part):
        return part(*args, **kwargs)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    if part in bound.arguments:
        return bound.arguments[part]
    more = bound.arguments[_others_of(signature) or ""]
    if part not in more:
        raise Refused(f"the call has no argument {part!r}, which is to be its key or payload", None,
                      f"give it: {part}=…")
    return more[part]


def _others_of(signature: inspect.Signature) -> Optional[str]:
    """The name of ``**kwargs``, where the function has it."""
    names = [one.name for one in signature.parameters.values() if one.kind is one.VAR_KEYWORD]
    return names[0] if names else None


def refuse_unknown_part(work: Any, part: Optional[Part], signature: inspect.Signature) -> None:
    """Raises where the name of an argument is none of the function's."""
    if part is None or callable(part) or part in signature.parameters or _others_of(signature):
        return
    names = ", ".join(signature.parameters) or "none"
    raise Refused(f"{getattr(work, '__name__', work)!s} has no argument {part!r}", None,
                  f"a name of its arguments ({names}), or a function of them")


def as_result(value: Any) -> Optional[str]:
    return None if value is None else json.dumps(value)


def from_result(kept: Optional[Payload]) -> Any:
    return None if not kept else json.loads(as_bytes(kept))


def is_coroutine_function(work: Any) -> bool:
    """True also for an object whose call is one."""
    return inspect.iscoroutinefunction(work) or inspect.iscoroutinefunction(
        getattr(type(work), "__call__", None))


def refuse_generator_function(work: Any) -> None:
    for one in (work, getattr(type(work), "__call__", None)):
        if inspect.isgeneratorfunction(one) or inspect.isasyncgenfunction(one):
            raise TypeError(f"{work!r} is a generator function: its call does no work, so that no call of it "
                            "can be recorded as done")


def refuse_unfinished(value: Any) -> None:
    """Raises where the work has yet to be run, or may still fail: nothing may be recorded as done."""
    if inspect.isawaitable(value):
        mend = "await it under semel.aio.once"
    elif isinstance(value, Future):
        mend = "wait for it, and return its result()"
    elif isinstance(value, (Iterator, AsyncIterator)):
        mend = "go through it, and return a list"
    else:
        return
    if inspect.iscoroutine(value):
        value.close()
    raise TypeError(f"the work returned {value!r} and has not been done: {mend}")


def once(claims: Union[Claims, Callable[..., Claims]], *, key: Part, payload: Optional[Part] = None,
         wait: float = Options.wait,
         timeout: Optional[float] = Options.timeout) -> Callable[[Work], Work]:
    """Does the decorated work once for each key, and answers a duplicate with what it returned.

    ``key`` and ``payload`` are functions of the call's arguments, or the name of one. ``claims`` may be
    a function of them too, as where a connection is an argument. What the work returns is kept as JSON.
    ``wait`` and ``timeout``: as of ``semel.claim``.
    Raises a NotDone (Busy, Conflict, Dead, Parked, Invalid) where the work is not this caller's to do.
    Refuses a coroutine or generator function by a TypeError: its call alone makes no effect; and the name of
    an argument that the function does not have by a Refused. A future or an iterator that the work returns is
    a TypeError too, and the claim is given back.
    """

    def decorate(work: Work) -> Work:
        refuse_generator_function(work)
        if is_coroutine_function(work):
            raise TypeError(f"{work!r} is a coroutine function: decorate it with semel.aio.once")
        signature = inspect.signature(work)
        refuse_unknown_part(work, key, signature)
        refuse_unknown_part(work, payload, signature)

        @functools.wraps(work)
        def run(*args: Any, **kwargs: Any) -> Any:
            source = claims if hasattr(claims, "claim") else claims(*args, **kwargs)  # type: ignore
            with claim(source, part_of(key, signature, args, kwargs),
                       part_of(payload, signature, args, kwargs), wait=wait, timeout=timeout) as held:
                held.raise_for_outcome()
                if not held.first:
                    return from_result(held.result)
                value = work(*args, **kwargs)
                refuse_unfinished(value)
                try:
                    held.result = as_result(value)
                except Exception:  # as json raises, also for what is too deep
                    # The effect exists: it is recorded, and must not be made again for its answer.
                    held.done()
                    raise
                return value

        return run  # type: ignore

    return decorate
