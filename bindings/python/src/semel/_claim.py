"""A claim, and what is answered to one."""

from __future__ import annotations

import hashlib
import time
from contextlib import contextmanager
from enum import Enum
from typing import Any, Callable, Iterator, Optional, Protocol, Tuple, Union

from ._errors import Busy, Conflict, Dead, Invalid, LeaseLost, NotDone, Parked, Refused

Payload = Union[bytes, bytearray, memoryview, str]
#: A key of a batch, and its payload or None.
Item = Tuple[str, Optional[Payload]]
_LONGEST_KEY = 64 * 1024
#: The errors of a result that is too large, or is neither text nor bytes.
UNKEPT = (Refused, TypeError, ValueError)


class Outcome(str, Enum):
    """The answers to a claim."""

    NEW = "new"  # the key is claimed: do the work
    DUPLICATE = "duplicate"  # its effect had happened
    BUSY = "busy"  # somebody else has it, or its retry is not due
    RETRY = "retry"  # a retry whose payload the store keeps
    CONFLICT = "conflict"  # the key was used with another payload
    DEAD = "dead"  # given up before
    PARKED = "parked"  # waits for a person
    INVALID = "invalid"  # it cannot be a key


def key_fault(key: str) -> Optional[str]:
    """Why the text cannot be a key in any store; None: it can. Nothing has to be asked for that.

    Bytes or a number would be a key of another spelling, or one for each setting of a session: a TypeError.
    """
    if not isinstance(key, str):
        raise TypeError(f"a key is text, not {type(key).__name__}: decode it, or format it always in one way")
    try:
        content = key.encode()
    except UnicodeEncodeError:
        return "the key cannot be written in UTF-8"
    if not content:
        return "an empty key identifies nothing"
    if len(content) > _LONGEST_KEY:
        return f"the key has {len(content)} bytes, the limit is {_LONGEST_KEY}"
    return None


def check_timeout(seconds: float) -> None:
    if not seconds > 0:
        raise Refused(f"no call can be answered within {seconds!r} seconds", None, "a timeout of more than 0 seconds")


def as_bytes(content: Payload) -> bytes:
    if isinstance(content, str):
        return content.encode()
    # bytes() of another object may be anything: of a number, so many zeros.
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise TypeError(f"a payload and a result are text or bytes, not {type(content).__name__}")
    return bytes(content)


def fingerprint_of(payload: Payload) -> bytes:
    """The digest that stands for a payload when its key is met again."""
    return hashlib.sha256(as_bytes(payload)).digest()[:16]


def lease_clock() -> float:
    """Seconds by a clock that goes on while the machine sleeps, as the store's does."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.time()


class Ending(Protocol):
    """Ends claims of one kind."""

    def end_claim(self, claim: "Claim", how: str, result: Optional[bytes], after: Optional[float],
                  error: str) -> None: ...

    def renew_claim(self, claim: "Claim", lease: Optional[float]) -> None: ...


class Claim:
    """The answer for one key; where ``first`` is true, also the right to do its work.

    ``with semel.claim(…)`` ends it: done with ``result``, or, where the block raises an Exception, given
    back to be tried again.
    """

    def __init__(self, ending: Optional[Ending], key: str, outcome: Outcome, *,
                 result: Optional[bytes] = None, retry_after: Optional[float] = None,
                 reason: Optional[str] = None, nonce: Optional[str] = None,
                 token: Optional[int] = None, attempt: int = 1, taken_over: bool = False,
                 lease: Optional[float] = None) -> None:
        self._ending = ending
        self.key = key
        self.outcome = outcome
        #: Of a duplicate: what was kept. Of a new claim: what is kept where it ends as done.
        self.result: Optional[Payload] = result
        self.retry_after = retry_after
        self.reason = reason
        self.nonce = nonce
        #: Grows with each claim of any key: for whoever can compare it.
        self.token = token
        #: Counted from one, this attempt included.
        self.attempt = attempt
        #: An earlier attempt ended in the dark, and may have had its effect.
        self.taken_over = taken_over
        #: How long the claim is good without renewal, in seconds.
        self.lease = lease
        #: Until then nobody else can have the key: by lease_clock(), counted from before the store was asked.
        self.good_until = 0.0
        self.ended = False
        #: Somebody else has the key, or may have it: its lease ended under the block. Stop the work.
        self.lost = False
        #: Its end is on its way: a renewal that finds no lease then has lost none.
        self._being_ended = False
        #: An end was asked for, and perhaps taken: its block must not say otherwise.
        self._end_begun = False
        #: Of the payload that it was claimed with, where that is known here.
        self._fingerprint: Optional[bytes] = None

    @classmethod
    def invalid(cls, ending: Any, key: str, fault: str) -> "Claim":
        """The answer for what cannot be a key: nothing was asked of the store."""
        return cls(ending, key, Outcome.INVALID, reason=fault)

    def __repr__(self) -> str:
        return f"<Claim {self.key!r} {self.outcome.value}{' ended' if self.ended else ''}>"

    @property
    def first(self) -> bool:
        """True where the work is this caller's to do."""
        return self.outcome is Outcome.NEW

    @property
    def settled(self) -> bool:
        """True where the message may be acknowledged without doing its work."""
        return self.outcome in (Outcome.DUPLICATE, Outcome.DEAD)

    def raise_for_outcome(self) -> None:
        """Raises a NotDone unless the key is new or its effect has happened."""
        kinds: dict[Outcome, tuple[type[NotDone], str]] = {
            Outcome.BUSY: (Busy, "somebody else has the key"),
            Outcome.RETRY: (Busy, "its retry is not due"),
            Outcome.CONFLICT: (Conflict, "the key was used with another payload"),
            Outcome.DEAD: (Dead, "it was given up"),
            Outcome.PARKED: (Parked, "it waits for a person"),
            Outcome.INVALID: (Invalid, "it cannot be a key"),
        }
        if self.outcome not in kinds:
            return
        kind, why = kinds[self.outcome]
        raise kind(self.key, f"{why} ({self.reason})" if self.reason else why, self.retry_after)

    def done(self, result: Optional[Payload] = None) -> None:
        """The effect exists. Duplicates are answered with the result.

        A result that cannot be kept raises, and the claim is done without it: its effect must not be made
        again for its answer.
        """
        try:
            self._end("done", result=result)
        except UNKEPT:
            if result is None or self.ended:
                raise
            self._end("done")
            raise

    def retry(self, after: Optional[float] = None, error: str = "") -> None:
        """It failed, and is tried again: due after so many seconds."""
        self._end("retry", after=after, error=error)

    def dead(self, error: str = "") -> None:
        """It is given up."""
        self._end("dead", error=error)

    def release(self) -> None:
        """It was not begun: as if it had not been claimed."""
        self._end("release")

    def renew(self, lease: Optional[float] = None) -> None:
        """Moves the end of its lease to that many seconds from now. Raises LeaseLost."""
        self._held().renew_claim(self, lease)

    @property
    def _ends_alone(self) -> bool:
        """False in a transaction: the caller's COMMIT or ROLLBACK ends it."""
        return self.lease is not None

    def _no_commit(self) -> Optional[Callable[[], Any]]:
        """Of a block that raised in a transaction: makes the caller's COMMIT impossible."""
        return None if self._ends_alone else getattr(self._held(), "forbid_commit", None)

    def _may_be_given_back(self, error: BaseException) -> bool:
        """Whether its block, which raised the error, has shown that the work failed and has said nothing else."""
        return self._ends_alone and isinstance(error, Exception) and not self.lost and not self._end_begun

    def _held(self) -> Ending:
        if not self.first or self.ended or self._ending is None:
            raise RuntimeError(f"{self!r} is not held")
        return self._ending

    def _end(self, how: str, result: Optional[Payload] = None, after: Optional[float] = None,
             error: str = "") -> None:
        ending = self._held()
        with self._ended_by(how):
            ending.end_claim(self, how, None if result is None else as_bytes(result), after, error)

    @contextmanager
    def _ended_by(self, how: str) -> Iterator[None]:
        """Around the call that ends it: keeps what is known of the claim when it raises."""
        self._being_ended = self._end_begun = True
        try:
            yield
            self.ended = True
        except LeaseLost:
            self.ended = True  # by somebody else
            raise
        except UNKEPT:
            # Nothing was taken. The effect of what is done exists all the same.
            self._end_begun = how == "done"
            raise
        finally:
            self._being_ended = False
