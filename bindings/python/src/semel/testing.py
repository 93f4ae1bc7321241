"""For tests of consumers: claims in memory, and deliveries as a broker may make them.

The rules are those of the stores; the time is the test's own.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Optional, Sequence

from ._claim import Claim, Item, Outcome, Payload, as_bytes, fingerprint_of, key_fault
from ._errors import LeaseLost, lease_lost
from ._http import End, check_how, ended_by

_NO_FINGERPRINT = bytes(16)


class Died(BaseException):
    """Stands for the death of a process: nothing of a consumer catches it."""


@dataclass
class _Record:
    state: str = "consuming"  # or completed, retrying, dead
    fingerprint: bytes = _NO_FINGERPRINT
    nonce: str = ""
    until: float = 0.0  # the end of its lease; while retrying, when it is due
    attempt: int = 0
    in_the_dark: bool = False  # an attempt ended without a word
    result: Optional[bytes] = None


class MemoryClaims:
    """Claims keys in memory: what HttpClaims does, without a run. Not thread-safe."""

    def __init__(self, consumer: str = "test", *, lease: float = 60.0) -> None:
        self.consumer = consumer
        self.lease = lease
        self.now = 0.0
        self._records: dict[str, _Record] = {}
        self._tokens = itertools.count(1)
        self._deaths = 0

    def advance(self, seconds: float) -> None:
        """Time passes: leases end, retries become due."""
        self.now += seconds

    def die_before_end(self) -> None:
        """The process dies before the next claim is ended: after the effect, before its record."""
        self._deaths += 1

    def state_of(self, key: str) -> Optional[str]:
        """consuming, completed, retrying or dead; None: the key is not known."""
        record = self._records.get(key)
        return None if record is None else record.state

    def claim(self, key: str, payload: Optional[Payload] = None) -> Claim:
        fault = key_fault(key)
        if fault is not None:
            return Claim.invalid(self, key, fault)
        arrived = _NO_FINGERPRINT if payload is None else fingerprint_of(payload)
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = _Record(state="new", fingerprint=arrived)
        if arrived != record.fingerprint and arrived != _NO_FINGERPRINT:
            return Claim(self, key, Outcome.CONFLICT)
        if record.state == "completed":
            return Claim(self, key, Outcome.DUPLICATE, result=record.result)
        if record.state == "dead":
            return Claim(self, key, Outcome.DEAD, reason="handler.native")
        if record.state in ("consuming", "retrying") and record.until > self.now:
            return Claim(self, key, Outcome.BUSY, retry_after=record.until - self.now)
        record.in_the_dark = record.in_the_dark or record.state == "consuming"
        token = next(self._tokens)
        record.state, record.nonce, record.until = "consuming", f"nonce {token}", self.now + self.lease
        record.attempt += 1
        return Claim(self, key, Outcome.NEW, nonce=record.nonce, token=token, attempt=record.attempt,
                     taken_over=record.in_the_dark, lease=self.lease)

    def claim_many(self, items: Sequence[Item]) -> list[Claim]:
        return [self.claim(key, payload) for key, payload in items]

    def finish_many(self, ends: Iterable[End]) -> list[bool]:
        taken = []
        with ended_by(ends) as said:
            for end in said:
                try:
                    kept = None if end.result is None else as_bytes(end.result)
                    self.end_claim(end.claim, end.how, kept, end.after, end.error)
                    taken.append(True)
                except LeaseLost:
                    taken.append(False)
                end.claim.ended = True
        return taken

    def end_claim(self, claim: Claim, how: str, result: Optional[bytes], after: Optional[float],
                  error: str) -> None:
        check_how(how)
        if self._deaths > 0:
            self._deaths -= 1
            raise Died(f"before the end of {claim.key!r}")
        record = self._held(claim)
        record.nonce = ""
        if how == "done":
            record.state, record.result = "completed", result
        elif how == "retry":
            record.state, record.until = "retrying", self.now + (after or 0.0)
        elif how == "dead":
            record.state = "dead"
        else:
            record.attempt -= 1
            record.state, record.until = "retrying", self.now
            if record.attempt == 0:
                del self._records[claim.key]

    def renew_claim(self, claim: Claim, lease: Optional[float]) -> None:
        self._held(claim).until = self.now + (lease if lease is not None else self.lease)

    def _held(self, claim: Claim) -> _Record:
        record = self._records.get(claim.key)
        if record is None or record.state != "consuming" or record.nonce != claim.nonce:
            raise lease_lost(claim.key)
        return record


def deliver_twice(handler: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Delivers a message, and again, as a broker does whose acknowledgement was lost."""
    return handler(*args, **kwargs), handler(*args, **kwargs)


def deliver_after_death(claims: MemoryClaims, handler: Callable[..., Any], *args: Any,
                        **kwargs: Any) -> Any:
    """Delivers a message to a process that dies before its record is written, and then, its lease over,
    to the next one. The effect happens twice, unless its receiver honours the key."""
    claims.die_before_end()
    try:
        handler(*args, **kwargs)
    except Died:
        claims.advance(claims.lease)
        return handler(*args, **kwargs)
    raise AssertionError("the handler ended no claim, so that no death could come before it")
