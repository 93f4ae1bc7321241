"""The errors. Each names the key where there is one."""

from __future__ import annotations

from typing import Optional

_SHOWN = 200

class SemelError(Exception):
    """The base of all of them.

    Its text has all that is known: ``[R272] message; fix: …``. ``code`` is what ``semel explain`` explains;
    ``fix`` says what to change.
    """

    def __init__(self, message: str, code: Optional[str] = None, fix: Optional[str] = None) -> None:
        super().__init__(f"{f'[{code}] ' if code else ''}{message}{f'; fix: {fix}' if fix else ''}")
        self.message = message
        self.code = code
        self.fix = fix


class Unavailable(SemelError):
    """The run or its store did not answer. A claim, or an end, may have been taken: ask again."""


class Refused(SemelError):
    """The call itself is wrong: its token, its consumer or its arguments. Nothing was done."""


class NotInTransaction(SemelError):
    """The record would be committed before the effect: the connection is in no transaction."""


class LeaseLost(SemelError):
    """Somebody else has the key by now, or it is ended. What was said of it changed nothing."""


def shown_key(key: str) -> str:
    """For a message: what is too long to be a key is too long to be read."""
    return repr(key) if len(key) <= _SHOWN else f"{key[:_SHOWN]!r}…"


def lease_lost(key: str) -> LeaseLost:
    return LeaseLost(f"{shown_key(key)}: its lease was lost: somebody else decides")


class NotDone(SemelError):
    """The effect of a key did not happen in this call, and is not known to have happened."""

    def __init__(self, key: str, reason: str, retry_after: Optional[float] = None) -> None:
        super().__init__(f"{shown_key(key)}: {reason}")
        self.key = key
        self.reason = reason
        self.retry_after = retry_after


class Busy(NotDone):
    """Somebody has the key, or its retry is not due. Leave the message; ask again after ``retry_after``."""


class Conflict(NotDone):
    """The key was used with another payload. Put the message aside; never acknowledge it silently."""


class Dead(NotDone):
    """Given up before. Acknowledge."""


class Parked(NotDone):
    """Waits for a person. Leave the message."""


class Invalid(NotDone):
    """It cannot be a key. Put the message aside."""
