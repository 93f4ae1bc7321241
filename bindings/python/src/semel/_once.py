"""``with semel.claim(…)`` and ``@semel.once(…)``."""

from __future__ import annotations

import functools
import inspect
import json
import threading
import time
from types import TracebackType
from typing import Any, Callable, Optional, Protocol, TypeVar, Union

from ._claim import Claim, Outcome, Payload
from ._errors import LeaseLost, Unavailable

Work = TypeVar("Work", bound=Callable[..., Any])
#: A function of the arguments, or the name of one of them.
Part = Union[str, Callable[..., Any]]

_LONGEST_WAIT = 1.0


class Claims(Protocol):
    """Claims keys of one consumer: HttpClaims, Transaction, semel.testing.MemoryClaims."""

    def claim(self, key: str, payload: Optional[Payload] = None) -> Claim: ...


class _Renewal(threading.Thread):
    """Renews a claim at a third of its lease, until it is told to stop or the lease is lost."""

    def __init__(self, held: Claim, lease: float) -> None:
        super().__init__(name=f"semel renews {held.key[:40]}", daemon=True)
        self._held = held
        self._lease = lease
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.wait(self._lease / 3):
            try:
                self._held.renew(self._lease)
            except Unavailable:
                continue
            except (LeaseLost, RuntimeError):
                return

    def stop(self) -> None:
        self._stopped.set()


class claim:
    """``with semel.claim(claims, key, payload) as held``: does the work where ``held.first``.

    At the end of the block the claim is done, with ``held.result``; where the block raises it is given
    back, and the exception passes. In a Transaction both are the business of the caller's COMMIT or
    ROLLBACK. A lease is renewed meanwhile, unless ``renew`` is false. ``wait``: for how many seconds a
    key that somebody else has is asked for again.
    """

    def __init__(self, claims: Claims, key: str, payload: Optional[Payload] = None, *,
                 wait: float = 0.0, renew: bool = True) -> None:
        self._claims = claims
        self._key = key
        self._payload = payload
        self._wait = wait
        self._renew = renew
        self._held: Optional[Claim] = None
        self._renewal: Optional[_Renewal] = None

    def __enter__(self) -> Claim:
        last = time.monotonic() + self._wait
        while True:
            held = self._claims.claim(self._key, self._payload)
            left = last - time.monotonic()
            if held.outcome not in (Outcome.BUSY, Outcome.RETRY) or left <= 0:
                break
            time.sleep(min(held.retry_after or _LONGEST_WAIT, _LONGEST_WAIT, left))
        self._held = held
        if held.first and held.lease and self._renew:
            self._renewal = _Renewal(held, held.lease)
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
        elif held.lease is not None:
            try:
                held.retry(error=f"{type(error).__name__}: {error}")
            except (LeaseLost, Unavailable):
                pass  # the lease ends by itself, and the block's own error matters more


def part_of(part: Optional[Part], signature: inspect.Signature, args: Any, kwargs: Any) -> Any:
    """The key or the payload of a call."""
    if part is None:
        return None
    if callable(part):
        return part(*args, **kwargs)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments[part]


def as_result(value: Any) -> Optional[str]:
    return None if value is None else json.dumps(value)


def from_result(kept: Optional[Payload]) -> Any:
    return None if not kept else json.loads(kept)


def once(claims: Union[Claims, Callable[..., Claims]], *, key: Part, payload: Optional[Part] = None,
         wait: float = 0.0) -> Callable[[Work], Work]:
    """Does the decorated work once for each key, and answers a duplicate with what it returned.

    ``key`` and ``payload`` are functions of the call's arguments, or the name of one. ``claims`` may be
    a function of them too, as where a connection is an argument. What the work returns is kept as JSON.
    Raises a NotDone (Busy, Conflict, Dead, Parked, Invalid) where the work is not this caller's to do.
    """

    def decorate(work: Work) -> Work:
        signature = inspect.signature(work)

        @functools.wraps(work)
        def run(*args: Any, **kwargs: Any) -> Any:
            source = claims if hasattr(claims, "claim") else claims(*args, **kwargs)  # type: ignore
            with claim(source, part_of(key, signature, args, kwargs),
                       part_of(payload, signature, args, kwargs), wait=wait) as held:
                held.raise_for_outcome()
                if not held.first:
                    return from_result(held.result)
                value = work(*args, **kwargs)
                try:
                    held.result = as_result(value)
                except (TypeError, ValueError):
                    # The effect exists: it is recorded, and must not be made again for its answer.
                    held.done()
                    raise
                return value

        return run  # type: ignore

    return decorate
